"""Lines of files about alerts: what each step needs, and what says nothing."""

import json

import pytest

from pipeline.errors import Unreadable
from pipeline.log.ndjson import read_line

ALERT = {"kind": "alert", "occurred_at": "2026-03-03T00:00:02Z", "alert": "9d3f"}
TOLD = {"to": "ana", "via": "email", "level": 0}


@pytest.mark.parametrize(
    ("said", "lacking"),
    [
        ({}, "step: Field required"),
        ({"step": "forgotten"}, "step: Input should be 'raised', 'tried'"),
        ({"step": ["raised"]}, "step: Input should be 'raised', 'tried'"),
        ({"step": "cleared", "alert": ""}, "alert: a non-empty text"),
        ({"step": "raised", "since": 7}, "since: an ISO 8601 text"),
        ({"step": "snoozed", "actor": "ana"}, "an alert that was snoozed needs until"),
        ({"step": "snoozed", "actor": "ana", "until": "never"}, "until: it is not ISO 8601"),
        ({"step": "acknowledged", "actor": ""}, "actor: "),
        ({"step": "sent", **TOLD, "level": "x"}, "level: "),
        ({"step": "failed", "to": "ana"}, "an alert that was failed needs via"),
    ],
)
def test_a_line_about_an_alert_that_says_nothing_is_named(
    said: dict[str, object], lacking: str
) -> None:
    """Any line was taken as one, and `prazo ingest` said that all was well."""
    with pytest.raises(Unreadable) as refused:
        read_line(json.dumps({**ALERT, **said}).encode(), recorded_by="file")
    assert refused.value.what.startswith(lacking)


@pytest.mark.parametrize(
    "said",
    [
        {"step": "raised", "about": "expired", "since": "2026-03-03T00:00:00Z"},
        {"step": "undelivered", "to": "", "via": "", "level": 0, "answer": "nobody"},
        {"step": "cleared", "process_id": "p1"},
        {"step": "sent", **TOLD, "try": 1, "message": "m1"},
    ],
)
def test_what_a_log_says_of_an_alert_is_taken_as_it_came(said: dict[str, object]) -> None:
    draft = read_line(json.dumps({**ALERT, **said}).encode(), recorded_by="file")
    body = {"alert": "9d3f", **said}
    body.pop("process_id", None)
    assert json.loads(draft.body or b"") == body
    assert draft.process_id == said.get("process_id")
