"""Describes the API in OpenAPI 3.1, for programs that make a client of it."""

from collections.abc import Mapping
from functools import lru_cache
from importlib import metadata
from typing import Any, Final, get_args

import pyarrow as pa

from pipeline.alert.messages.links import PATH
from pipeline.clearance.clearances import Decision
from pipeline.continuity.service import LedgerService
from pipeline.ledger.views import formats
from pipeline.ledger.views.catalogue import View, public

_SEVERAL: Final = {"style": "form", "explode": True}
_TEXTS: Final = {"type": "array", "items": {"type": "string"}}
_WHOLE: Final = {"type": "integer", "minimum": 0}

_SELECTING: Final = (
    ("where", "Only rows whose column has this value, as COLUMN=VALUE; the same column twice: any"),
    ("from", "Only rows whose column is this or greater, as COLUMN=VALUE"),
    ("before", "Only rows whose column is less than this, as COLUMN=VALUE"),
    ("contains", "Only rows whose column contains this text, whatever the case, as COLUMN=PART"),
)
_FAULTS: Final = {
    "400": "The question is wrong; the answer says why and what to do",
    "401": "The token is missing or unknown",
    "403": "The token lacks a scope, or the request came by a way that is not allowed",
    "409": "It waits for a second person; the answer names the request",
    "503": "Not now: the store cannot be reached, or other work of this kind is under way",
}


@lru_cache(maxsize=1)
def document(service: LedgerService) -> dict[str, Any]:
    """The whole description: every path below `/api`, with its parameters and answers. What a row
    of each view holds follows from the view's header and from the types of its SQL."""
    schemas = {
        name: _row(view, service.reader.read(name, limit=0).schema)
        for name, view in public().items()
    }
    selecting = [
        _asked("as_of", "The instant, or the day (at its end), to look at; else now", _moment()),
        *_chosen(),
    ]
    shown = [
        *selecting,
        _asked("order", "The column to sort by; with - in front, the greatest first", _text()),
        _asked("limit", "At most so many rows", _WHOLE),
        _asked("offset", "Without the first so many rows", _WHOLE),
        _asked("format", "json, if not given", {"type": "string", "enum": [*formats.FORMATS]}),
    ]
    asked = {it["name"]: it for it in shown}
    reason = _object({"unmask": _text(), "actor": _text()}, "unmask")
    return {
        "openapi": "3.1.0",
        "info": {"title": "Prazo", "version": metadata.version("prazo")},
        "security": [{"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "parameters": asked,
            "schemas": schemas,
        },
        "paths": {
            "/api/openapi.json": {"get": _call("This description", {"application/json": {}})},
            "/api/status": {"get": _call("How far ledger and inbox are", {"application/json": {}})},
            "/api/ready": {
                "get": _call("Whether the ledger is up to date", {"application/json": {}})
            },
            "/api/metrics": {"get": _call("Figures for Prometheus", {"text/plain": {}})},
            "/api/views": {"get": _call("The views and their columns", {"application/json": {}})},
            **_of_views([it["name"] for it in selecting], [*asked], reason),
            **_of_proof(),
            **_of_clearances(),
            **_of_links(),
        },
    }


def _of_proof() -> dict[str, Any]:
    """The paths of heads, checkpoints, packages and audits."""
    package = {
        **{it: _text() for it in ("process_id", "seller_id", "reason", "actor", "against")},
        **{it: _moment() for it in ("from", "to")},
        "profile": {"type": "string", "enum": ["full", "masked"]},
        "withhold": {"type": "array", "items": {"type": "integer"}},
    }
    return {
        "/api/head": {
            "get": _open(_call("The newest signed head, for receivers", {"text/plain": {}}))
        },
        "/api/checkpoint": {"get": _call("The newest signed checkpoint", {"application/json": {}})},
        "/api/exports": {
            "post": _call(
                "An audit package, which the log then names",
                {"application/zip": {}},
                body=_object(package, "reason"),
            )
        },
        "/api/audits": {
            "post": _call(
                "Every check of ledger and inbox",
                {"application/json": {}},
                body=_object({"against": _text()}),
            )
        },
    }


def _of_clearances() -> dict[str, Any]:
    """The path by which a second person decides."""
    decision = {"type": "string", "enum": [*get_args(Decision)]}
    said = {"decision": decision, "reason": _text(), "actor": _text()}
    post = _call(
        "A second person's word about a request",
        {"application/json": {}},
        body=_object(said, "decision", "reason"),
    )
    path = "/api/clearances/{request_id}"
    return {path: {"parameters": [_in_path("request_id")], "post": post}}


def _of_links() -> dict[str, Any]:
    """The path behind the link of an alert's message."""
    page: dict[str, Any] = {"text/html": {}}
    return {
        f"{PATH}{{token}}": {
            "parameters": [_in_path("token")],
            "get": _open(_call("What following the link of a message would record", page)),
            "post": _open(_call("Records it: somebody sees to an alert, or puts it off", page)),
        }
    }


def _in_path(name: str) -> dict[str, Any]:
    """A parameter that is a part of the path."""
    return {"name": name, "in": "path", "required": True, "schema": _text()}


def _of_views(selecting: list[str], shown: list[str], reason: Mapping[str, Any]) -> dict[str, Any]:
    """The paths of each view. `selecting`, `shown`: the parameters of a count, and of rows."""
    paths: dict[str, Any] = {}
    counted = {"application/json": {"schema": _object({"count": _WHOLE}, "count")}}
    for name, view in public().items():
        rows: dict[str, Any] = {form: {} for form in formats.MEDIA_TYPES.values()}
        items = {"$ref": f"#/components/schemas/{name}"}
        rows[formats.MEDIA_TYPES["json"]] = {"schema": {"type": "array", "items": items}}
        rows[formats.MEDIA_TYPES["ndjson"]] = {"schema": items}
        paths[f"/api/views/{name}"] = {
            "get": _call(f"{view.summary} Personal values are masked.", rows, _named(shown)),
            "post": _call(
                "The same with personal values, once the log says why",
                rows,
                _named(shown),
                body=reason,
            ),
        }
        paths[f"/api/views/{name}/count"] = {
            "get": _call("How many rows there are", counted, _named(selecting))
        }
    return paths


def _named(parameters: list[str]) -> list[dict[str, Any]]:
    return [{"$ref": f"#/components/parameters/{it}"} for it in parameters]


def _row(view: View, types: pa.Schema) -> dict[str, Any]:
    """One row of a view: each column with its type and meaning. Columns beside the key may be
    null, and of the key those whose meaning says so."""
    columns = {}
    for name, meaning in view.columns.items():
        value = _value(types.field(name).type)
        if name not in view.key or "null" in meaning:
            value = _or_null(value)
        columns[name] = {**value, "description": meaning}
    return {"description": view.summary, **_object(columns, *columns)}


def _value(of: pa.DataType) -> dict[str, Any]:
    """A value as `pipeline.ledger.views.formats.plain` writes it."""
    if pa.types.is_timestamp(of):
        return _instant()
    if pa.types.is_date(of):
        return {"type": "string", "format": "date"}
    if pa.types.is_list(of):
        return {"type": "array", "items": _value(of.value_type)}
    if pa.types.is_struct(of):
        some = {it.name: _or_null(_value(it.type)) for it in of}
        return _object(some, *some)
    if pa.types.is_boolean(of):
        return {"type": "boolean"}
    if pa.types.is_integer(of):
        return {"type": "integer"}
    if pa.types.is_floating(of) or pa.types.is_decimal(of):
        return {"type": "number"}
    return _text()


def _or_null(value: Mapping[str, Any]) -> dict[str, Any]:
    return {**value, "type": [value["type"], "null"]}


def _text() -> dict[str, Any]:
    return {"type": "string"}


def _instant() -> dict[str, Any]:
    return {"type": "string", "format": "date-time"}


def _moment() -> dict[str, Any]:
    """An instant, or a day in the holder's zone, as somebody asks for it."""
    return {"anyOf": [_instant(), {"type": "string", "format": "date"}]}


def _object(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def _asked(name: str, description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": description, "schema": dict(schema)}


def _chosen() -> list[dict[str, Any]]:
    return [{**_asked(name, text, _TEXTS), **_SEVERAL} for name, text in _SELECTING]


def _call(
    summary: str,
    answer: Mapping[str, Any],
    parameters: list[dict[str, Any]] | None = None,
    body: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "summary": summary,
        "parameters": parameters or [],
        "responses": {
            "200": {"description": summary, "content": dict(answer)},
            **{status: {"description": text} for status, text in _FAULTS.items()},
        },
    }
    if body is not None:
        content = {"application/json": {"schema": dict(body)}}
        found["requestBody"] = {"required": True, "content": content}
    return found


def _open(call: dict[str, Any]) -> dict[str, Any]:
    """A call that everybody may make, or whoever has a link with a token of its own."""
    return {**call, "security": []}
