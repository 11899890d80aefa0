"""The recorded bytes under `data/samples` are of every event type, and each can be read."""

from pathlib import Path

import pytest

from pipeline import contract, occurrences

SAMPLES = Path(__file__).parent.parent / "data" / "samples"
EVENTS = sorted(SAMPLES.glob("*.json"))

NINE_TYPES = {
    "seller.created",
    "seller.enabled",
    "seller.denied",
    "seller.disabled",
    "seller.updated",
    "seller.deleted",
    "bank_account.associated",
    "bank_account.deleted",
    "regulatory.registration.review.required",
}


@pytest.mark.parametrize("path", EVENTS, ids=lambda path: path.stem)
def test_a_recorded_event_is_read_as_the_type_that_its_file_is_named_after(path):
    event = contract.read_event(path.read_bytes())
    assert path.stem.startswith(event.type)
    assert event.seller_id is not None
    assert event.created_at is not None
    draft = occurrences.delivery(path.read_bytes(), occurred_at=0, recorded_by="webhook")
    assert draft.kind == "webhook"


def test_there_is_a_recorded_event_of_each_type_that_the_contract_lists():
    assert {contract.read_event(path.read_bytes()).type for path in EVENTS} == NINE_TYPES
    assert set(contract.EVENT_TYPES) == NINE_TYPES


def test_the_recorded_occurrences_are_lines_that_ingest_takes():
    lines = (SAMPLES / "occurrences.ndjson").read_bytes().splitlines()
    kinds = [occurrences.read_line(line, recorded_by="file").kind for line in lines]
    assert kinds == ["collection", "submission_started", "submission_finished"]
