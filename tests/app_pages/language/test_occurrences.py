"""What pages call a step of a collection, by who gave it."""

import pytest

from app_pages.language import occurrences

WARNING = ":material/warning:"


@pytest.mark.parametrize(
    ("step", "source", "title", "warns"),
    [
        ("confirmed", "seller", "Seller confirmed", False),
        # Our journey keeps the receipt so: nobody reads that the marketplace confirmed.
        ("confirmed", "marketplace", "Evidence added", False),
        ("confirmed", "database", "Evidence added", True),
        ("invited", "marketplace", "Seller invited", False),
        ("answered", "seller", "Seller answered", False),
        ("answered", "marketplace", "Seller answered", True),
    ],
)
def test_a_step_is_called_what_its_source_makes_it(step, source, title, warns):
    row = {"kind": "collection", "step": step, "source": source, "channel": "web_form"}
    said = occurrences.entry({**dict.fromkeys(("status", "error", "reason")), **row})
    assert said.title == title
    assert (said.icon == WARNING) is warns


@pytest.mark.parametrize(
    ("recorded_by", "origin", "detail"),
    [
        ("dashboard:Ana Souza", "live", "Ana Souza"),
        ("user:ana", "live", "ana"),
        ("erp", "live", "erp"),
        ("resume", "live", "sent again by itself"),
        ("local", "live", ""),
        ("user:ana", "ingested", ""),  # who read the file sent nothing
    ],
)
def test_a_submission_says_who_sent_it(recorded_by, origin, detail):
    columns = ("status", "error", "reason", "step", "assignee", "actor", "note")
    row = {"kind": "submission_started", "recorded_by": recorded_by, "origin": origin}
    said = occurrences.entry({**dict.fromkeys(columns), **row})
    assert (said.title, said.detail) == ("Submission sent", detail)
