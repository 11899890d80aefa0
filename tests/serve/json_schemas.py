"""Whether values are what a JSON schema of our API says."""

import re
from collections.abc import Mapping
from typing import Any

JSON_TYPES: tuple[tuple[str, Any], ...] = (
    ("null", type(None)),
    ("boolean", bool),
    ("integer", int),
    ("number", float),
    ("string", str),
    ("array", list),
    ("object", dict),
)
DAY = r"\d{4}-\d\d-\d\d"
DATE_TIME = DAY + r"T\d\d:\d\d:\d\d(\.\d+)?Z"


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a JSON value is what a schema of ours says."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    kind = next(it for it, types in JSON_TYPES if isinstance(value, types))
    if kind == "integer" and kind not in kinds:
        kind = "number"
    if kind not in kinds:
        return False
    if kind == "array":
        return all(fits(it, schema["items"]) for it in value)
    if kind == "object":
        known = schema["properties"]
        return set(value) == set(known) and all(fits(value[it], known[it]) for it in known)
    if kind == "string" and "format" in schema:
        form = {"date-time": DATE_TIME, "date": DAY}[schema["format"]]
        return re.fullmatch(form, value) is not None
    return True
