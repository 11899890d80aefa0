"""Lines of files: what no table holds is refused, and read where it stands; errors name nobody."""

import json
from typing import Any

import pyarrow as pa
import pytest

from pipeline.errors import Unreadable
from pipeline.ledger import facts
from pipeline.log.entries import Place, record_entry
from pipeline.log.ndjson import read_line


def line(size: object) -> dict[str, Any]:
    artifact = {"name": "screen.png", "sha256": "a" * 64, "size_bytes": size}
    named = {"process_id": "p1", "seller_id": "s1", "journey_id": "j1", "artifacts": [artifact]}
    said = {"step": "answered", "channel": "web_form", "source": "seller"}
    return {"kind": "collection", "occurred_at": "2026-03-02T09:00:00Z", **named, **said}


@pytest.mark.parametrize(
    ("size", "read"),
    [(2**63, None), (2**64 - 1, None), ("5", 5), ("five", None), (5.0, 5), (True, 1), ([], None)],
)
def test_a_size_that_no_table_holds_is_refused_and_stops_no_ledger(
    size: object, read: int | None
) -> None:
    """One was recorded, and from then on no ledger took an entry, nor could be made again."""
    with pytest.raises(Unreadable, match=r"^artifacts\.0\.size_bytes: "):
        read_line(json.dumps(line(size)).encode(), recorded_by="file")
    # As somebody's package may state it.
    draft = read_line(json.dumps(line(5)).encode(), recorded_by="file")
    draft = draft._replace(
        body=(draft.body or b"").replace(b":5}", b":%b}" % json.dumps(size).encode())
    )
    place = Place(1, 0, 1, None, 1, None, False)
    entry = record_entry(draft, place, log="prazo/1", log_key=b"k" * 32, random=bytes)
    found = facts.extract([entry], facts.Keys(values=b"v", taxpayer=b"t"))
    sizes = [it.size_bytes for table in found for it in found[table] if hasattr(it, "size_bytes")]
    assert pa.array(sizes, type=pa.int64()).to_pylist() == [read]


def test_an_unknown_kind_is_refused_without_what_came() -> None:
    with pytest.raises(Unreadable, match=r"^kind: one of 'webhook', [^9]* is expected$"):
        read_line(json.dumps({**line(1), "kind": "529.982.247-25"}).encode(), recorded_by="file")


@pytest.mark.parametrize(
    ("error", "recorded"),
    [
        ("timeout", "timeout"),
        ("reset by 10.0.0.7 after 30 s", "reset by 10.0.0.7 after 30 s"),
        ("no CPF 529.982.247-25 of ana@example.com", "no CPF *** of ***"),
        ("refused at gatewaynorth01", "refused at gatewaynorth01"),
    ],
)
def test_an_error_in_a_file_is_recorded_without_whom_it_names(error: str, recorded: str) -> None:
    """A masked package shows what is recorded beside a body, and so it showed whose CPF it was."""
    ended = {"kind": "submission_finished", "occurred_at": "2026-03-02T09:00:00Z"}
    named = {"attempt_id": "a1", "process_id": "p1", "status": None, "error": error}
    draft = read_line(json.dumps(ended | named).encode(), recorded_by="file")
    assert draft.particulars == {"error": recorded}


def test_a_marketplace_in_a_file_is_recorded_without_whom_it_names() -> None:
    """It stands beside the body, too, and a masked package showed it."""
    began = {"kind": "submission_started", "occurred_at": "2026-03-02T09:00:00Z"}
    named = {"attempt_id": "a1", "process_id": "p1", "marketplace_id": "mkt-ana@example.com"}
    draft = read_line(json.dumps(began | named).encode(), recorded_by="file")
    assert draft.particulars == {"via": "ingested", "marketplace_id": "***"}


@pytest.mark.parametrize("status", ["200", "two hundred", 200.0, True, 99, 1000])
def test_a_status_in_a_file_is_a_number_as_its_sender_saw_it(status: object) -> None:
    """A text of digits was recorded as the number that it looks like."""
    ended = {"kind": "submission_finished", "occurred_at": "2026-03-02T09:00:00Z"}
    named = {"attempt_id": "a1", "process_id": "p1"}
    with pytest.raises(Unreadable, match="status"):
        read_line(json.dumps(ended | named | {"status": status}).encode(), recorded_by="file")
    draft = read_line(json.dumps(ended | named | {"status": 200}).encode(), recorded_by="file")
    assert draft.status == 200
