"""Describes the API in OpenAPI 3.1, for programs that make a client of it, from the list of its
calls. See docs/decisions/access.md#the-apis-calls-are-one-list-without-fastapi for why.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

import pyarrow as pa
from starlette.requests import Request
from starlette.responses import Response

from pipeline.ledger.views import formats
from pipeline.ledger.views.catalogue import View, public
from pipeline.ledger.views.reader import Reader
from pipeline.release import release
from pipeline.serve import questions

Schema = Mapping[str, Any]

TEXT: Final[Schema] = {"type": "string"}
WHOLE: Final[Schema] = {"type": "integer", "minimum": 0}
_INSTANT: Final[Schema] = {"type": "string", "format": "date-time"}
MOMENT: Final[Schema] = {"anyOf": [_INSTANT, {"type": "string", "format": "date"}]}
"""An instant, or a day in the holder's zone, as somebody asks for it."""
JSON: Final[Mapping[str, Schema]] = {"application/json": {}}
PLAIN_TEXT: Final[Mapping[str, Schema]] = {"text/plain": {}}
HTML: Final[Mapping[str, Schema]] = {"text/html": {}}
OF_A_VIEW: Final = "/api/views/{name}"
"""Paths that begin so are described for each view."""


class Call(NamedTuple):
    """One method of one path."""

    method: str
    path: str
    do: Callable[[Request], Awaitable[Response]]
    summary: str  # `{view}` stands for the view's own
    answer: Mapping[str, Schema] | None = JSON  # by media type; None: rows of the view
    asks: tuple[str, ...] | None = None  # parameters; a view has those that choose rows, too
    body: Schema | None = None
    is_open: bool = False  # to everybody, or to whoever has a link with a token of its own


def an_object(properties: Mapping[str, Schema], *required: str) -> dict[str, Any]:
    """The schema of an object that has these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def _asked(name: str, description: str, schema: Schema) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": description, "schema": schema}


def _choosing(name: str, description: str) -> dict[str, Any]:
    several = {"type": "array", "items": TEXT}
    return {**_asked(name, description, several), "style": "form", "explode": True}


_PARAMETERS: Final = (
    _asked("as_of", "The instant, or the day (at its end), to look at; else now", MOMENT),
    *(_choosing(*it) for it in questions.SELECTING.items()),
    _asked("order", "The column to sort by; with - in front, the greatest first", TEXT),
    _asked("limit", "At most so many rows", WHOLE),
    _asked("offset", "Without the first so many rows", WHOLE),
    _asked("format", "json, if not given", {**TEXT, "enum": [*formats.FORMATS]}),
)
_FAULTS: Final = {
    "400": "The question is wrong; the answer says why and what to do",
    "401": "The token is missing or unknown",
    "403": "The token lacks a scope, or the request came by a way that is not allowed",
    "409": "It waits for a second person; the answer names the request",
    "503": "Not now: the store cannot be reached, or other work of this kind is under way",
}


def document(reader: Reader, calls: Iterable[Call]) -> dict[str, Any]:
    """The whole description. What a row of each view holds follows from the view's header and from
    the types of its SQL."""
    paths: dict[str, dict[str, Any]] = {}
    for call in calls:
        for path, in_path, described in _each(call):
            paths.setdefault(path, in_path)[call.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {"title": "Prazo", "version": release()},
        "security": [{"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "parameters": {it["name"]: it for it in _PARAMETERS},
            "schemas": {
                name: _row(view, reader.read(name, limit=0).schema)
                for name, view in public().items()
            },
        },
        "paths": paths,
    }


def _each(call: Call) -> Iterable[tuple[str, dict[str, Any], dict[str, Any]]]:
    """The paths of a call, what is variable in each, and what it does there."""
    if call.path.startswith(OF_A_VIEW):
        for name, view in public().items():
            summary = call.summary.format(view=view.summary)
            yield call.path.replace("{name}", name), {}, _described(call, summary, name)
    else:
        names = [it.partition("}")[0] for it in call.path.split("{")[1:]]
        given = [{"name": it, "in": "path", "required": True, "schema": TEXT} for it in names]
        yield call.path, {"parameters": given} if given else {}, _described(call, call.summary)


def _described(call: Call, summary: str, view: str = "") -> dict[str, Any]:
    choosing = questions.SELECTING if call.path.startswith(OF_A_VIEW) else ()
    asked = () if call.asks is None else (*call.asks, *choosing)
    known = [it["name"] for it in _PARAMETERS if it["name"] in asked]
    answer = _rows(view) if call.answer is None else call.answer
    found: dict[str, Any] = {
        "summary": summary,
        "parameters": [{"$ref": f"#/components/parameters/{it}"} for it in known],
        "responses": {
            "200": {"description": summary, "content": answer},
            **{status: {"description": text} for status, text in _FAULTS.items()},
        },
    }
    if call.body is not None:
        content = {"application/json": {"schema": call.body}}
        found["requestBody"] = {"required": True, "content": content}
    if call.is_open:
        found["security"] = []
    return found


def _rows(view: str) -> dict[str, Schema]:
    """Rows of a view, by media type."""
    rows: dict[str, Schema] = {form: {} for form in formats.MEDIA_TYPES.values()}
    items = {"$ref": f"#/components/schemas/{view}"}
    rows[formats.MEDIA_TYPES["json"]] = {"schema": {"type": "array", "items": items}}
    rows[formats.MEDIA_TYPES["ndjson"]] = {"schema": items}
    return rows


def _row(view: View, types: pa.Schema) -> dict[str, Any]:
    """One row of a view: each column with its type and meaning. Columns beside the key may be
    null, and of the key those whose meaning says so."""
    columns = {}
    for name, meaning in view.columns.items():
        value = _value(types.field(name).type)
        if name not in view.key or "null" in meaning:
            value = _or_null(value)
        columns[name] = {**value, "description": meaning}
    return {"description": view.summary, **an_object(columns, *columns)}


def _value(of: pa.DataType) -> Mapping[str, Any]:
    """A value as `pipeline.ledger.views.formats.plain` writes it."""
    if pa.types.is_timestamp(of):
        return _INSTANT
    if pa.types.is_date(of):
        return {"type": "string", "format": "date"}
    if pa.types.is_list(of):
        return {"type": "array", "items": _value(of.value_type)}
    if pa.types.is_struct(of):
        some = {it.name: _or_null(_value(it.type)) for it in of}
        return an_object(some, *some)
    if pa.types.is_boolean(of):
        return {"type": "boolean"}
    if pa.types.is_integer(of):
        return {"type": "integer"}
    if pa.types.is_floating(of) or pa.types.is_decimal(of):
        return {"type": "number"}
    return TEXT


def _or_null(value: Mapping[str, Any]) -> dict[str, Any]:
    return {**value, "type": [value["type"], "null"]}
