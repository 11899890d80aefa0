"""The recorded bytes under `data/samples` are of every event type, and each can be read."""

import pytest

from pipeline.contract.events import read_event
from pipeline.log.deliveries import delivery
from pipeline.log.ndjson import read_line
from tests.support.events import SAMPLES

EVENTS = sorted(SAMPLES.glob("*.json"))


@pytest.mark.parametrize("path", EVENTS, ids=lambda path: path.stem)
def test_a_recorded_event_is_read_as_the_type_that_its_file_is_named_after(path):
    event = read_event(path.read_bytes())
    assert path.stem.startswith(event.type)
    assert event.seller_id is not None
    assert event.created_at is not None
    draft = delivery(path.read_bytes(), occurred_at=0, recorded_by="webhook")
    assert draft.kind == "webhook"


def test_the_recorded_occurrences_are_lines_that_ingest_takes():
    lines = (SAMPLES / "occurrences.ndjson").read_bytes().splitlines()
    kinds = [read_line(line, recorded_by="file").kind for line in lines]
    assert kinds == ["collection", "submission_started", "submission_finished"]
