"""What compares rows with the API's description sees what does not fit."""

from typing import Any

import pytest

from tests.serve.json_schemas import JSON_TYPES, fits


@pytest.mark.parametrize(
    ("value", "wrong"),
    [("x", 1), (1, 1.5), (True, 1), (["x"], [1]), ("2026-03-01T00:00:00Z", "2026-03-01")],
)
def test_what_a_schema_does_not_say_is_seen(value: Any, wrong: Any) -> None:
    schema: dict[str, Any] = {"type": next(it for it, of in JSON_TYPES if isinstance(value, of))}
    if isinstance(value, list):
        schema["items"] = {"type": "string"}
    if value != "x" and isinstance(value, str):
        schema["format"] = "date-time"
    assert fits(value, schema)
    assert not fits(wrong, schema)
