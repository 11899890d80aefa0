"""Describes the API in OpenAPI 3.1, for programs that make a client of it."""

from collections.abc import Mapping
from importlib import metadata
from typing import Any, Final

from pipeline.alert.links import PATH
from pipeline.ledger import formats
from pipeline.ledger.catalogue import public

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
    "503": "Not now: the store cannot be reached, or other work of this kind is under way",
}


def document() -> dict[str, Any]:
    """The whole description: every path below `/api`, with its parameters and answers."""
    name = {
        "name": "name",
        "in": "path",
        "required": True,
        "schema": {"type": "string", "enum": sorted(public())},
    }
    selecting = [
        _asked("as_of", "The instant to look at; now, if not given", _instant()),
        *_chosen(),
    ]
    shown = [
        *selecting,
        _asked("order", "The column to sort by; with - in front, the greatest first", _text()),
        _asked("limit", "At most so many rows", _WHOLE),
        _asked("offset", "Without the first so many rows", _WHOLE),
        _asked("format", "json, if not given", {"type": "string", "enum": [*formats.FORMATS]}),
    ]
    rows: dict[str, Any] = {form: {} for form in formats.MEDIA_TYPES.values()}
    reason = _object({"unmask": _text(), "actor": _text()}, "unmask")
    package = {
        **{it: _text() for it in ("process_id", "seller_id", "reason", "actor", "against")},
        **{it: _instant() for it in ("from", "to")},
        "profile": {"type": "string", "enum": ["full", "masked"]},
        "withhold": {"type": "array", "items": {"type": "integer"}},
    }
    paths: dict[str, Any] = {
        "/api/openapi.json": {"get": _call("This description", {"application/json": {}})},
        "/api/status": {"get": _call("How far ledger and inbox are", {"application/json": {}})},
        "/api/ready": {"get": _call("Whether the ledger is up to date", {"application/json": {}})},
        "/api/metrics": {"get": _call("Figures for Prometheus", {"text/plain": {}})},
        "/api/views": {"get": _call("The views and their columns", {"application/json": {}})},
        "/api/views/{name}": {
            "parameters": [name],
            "get": _call("Rows of a view; personal values are masked", rows, shown),
            "post": _call(
                "The same with personal values, once the log says why", rows, shown, reason
            ),
        },
        "/api/views/{name}/count": {
            "parameters": [name],
            "get": _call("How many rows there are", {"application/json": {}}, selecting),
        },
        "/api/head": {"get": _call("The newest signed head, for receivers", {"text/plain": {}})},
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
    token = {"name": "token", "in": "path", "required": True, "schema": _text()}
    paths[f"{PATH}{{token}}"] = {
        "parameters": [token],
        "get": _call("What following the link of a message would record", {"text/html": {}}),
        "post": _call("Records it: somebody sees to an alert, or puts it off", {"text/html": {}}),
    }
    for path in ("/api/head", f"{PATH}{{token}}"):
        for call in ("get", "post"):
            if call in paths[path]:
                paths[path][call]["security"] = []  # open to everybody, or by the link's own token
    return {
        "openapi": "3.1.0",
        "info": {"title": "Prazo", "version": metadata.version("prazo")},
        "security": [{"token": []}],
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": paths,
    }


def _text() -> dict[str, Any]:
    return {"type": "string"}


def _instant() -> dict[str, Any]:
    return {"type": "string", "format": "date-time"}


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
