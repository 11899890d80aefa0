"""What is legal, and that nobody expects, verifies like anything else."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline import verify
from pipeline.audit import export as evidence
from pipeline.audit.package import tables
from pipeline.audit.reproduce import verify_package
from pipeline.audit.request import Scope
from pipeline.continuity.service import LedgerService
from pipeline.inbox.artifacts import artifact_store
from pipeline.ledger.views import formats
from pipeline.log.ndjson import read_line
from pipeline.verify import Package
from tests import depth
from tests.audit import forgery
from tests.audit.conftest import export
from tests.support.stores import settings_in

PROCESS = "sha256:" + "c" * 64
LIKE_A_HASH = "hmac:" + "a" * 64
LONG_TEXT = b"what the seller saw\n" * 1000


def review(event: str, process: str, seller: str) -> dict[str, Any]:
    asked = {"type": "INCONSISTENT_DATA_UPDATE_REQUIRED", "process_id": process}
    asked |= {"customer_id": seller, "status": "OVERDUE", "requested_fields": ["revenue"]}
    event_type = "regulatory.registration.review.required"
    body = {"id": event, "type": event_type, "payload": {"object": asked}}
    return {"kind": "webhook", "occurred_at": "2026-03-01T09:00:00Z", "body": body}


def answer(process: str, seller: str, **artifact: Any) -> dict[str, Any]:
    named = {"name": "flow.txt", "media_type": "text/plain", **artifact}
    step = {"journey_id": "j1", "step": "answered", "channel": "web_form", "source": "seller"}
    of = {"process_id": process, "seller_id": seller, "actor": "ana", "artifacts": [named]}
    said = {"kind": "collection", "occurred_at": "2026-03-02T09:00:00Z"}
    return {**said, **of, **step, "fields": {"revenue": "1_to_2"}}


@pytest.fixture
def odd(tmp_path: Path) -> Iterator[LedgerService]:
    digest = hashlib.sha256(LONG_TEXT).hexdigest()
    lines = [
        review(LIKE_A_HASH, PROCESS, LIKE_A_HASH),
        answer(PROCESS, LIKE_A_HASH, sha256=digest, size_bytes=5),
    ]
    with closing(LedgerService(settings_in(tmp_path))) as opened:
        drafts = [read_line(json.dumps(it).encode(), recorded_by="file") for it in lines]
        opened.inbox.append(drafts)
        artifact_store(opened.settings, opened.inbox).keep(LONG_TEXT)
        yield opened


def test_ids_like_digests_and_a_text_longer_than_its_entry_says_verify(
    odd: LedgerService, tmp_path: Path
) -> None:
    """An id of the form of a keyed hash, in one delivery, was a fault of every package that holds
    it; so was one that begins like a digest, of a process or a seller. The text of a file that is
    kept under a smaller size stood in the report whole, and a large one could not be read again.
    """
    exported = export(odd, Scope(process_id=PROCESS), tmp_path / "odd.zip")
    verdict = verify_package(exported.path, key=exported.key)
    assert verdict.faults == []
    with Package(exported.path) as package:
        report = package.read("data/report.html")
    assert b"flow.txt" in report
    assert b"what the seller saw" not in report


def test_what_others_recorded_before_an_export_stands_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another export among it, while this one was prepared. A masked package has nothing of it."""
    with closing(LedgerService(settings_in(tmp_path))) as service:
        for number in (1, 2):
            said = json.dumps(review(f"e{number}", f"p{number}", f"s{number}")).encode()
            service.inbox.append([read_line(said, recorded_by="test")])
        asked, honest_prepare = Scope(process_id="p1"), evidence.prepare

        def prepare(*given: Any) -> Any:
            prepared = honest_prepare(*given)
            monkeypatch.setattr(evidence, "prepare", honest_prepare)
            export(service, Scope(process_id="p2"), tmp_path / "p2.zip")
            later = json.dumps(review("e9", "p9", "s9")).encode()
            service.inbox.append([read_line(later, recorded_by="test")])
            return prepared

        monkeypatch.setattr(evidence, "prepare", prepare)
        made = export(service, asked, tmp_path / "p1.zip")
        masked = export(service, asked, tmp_path / "masked.zip", "masked")
    found = verify_package(made.path, key=made.key)
    assert (found.faults, made.seq) == ([], 5)
    assert 'process "p1" is complete, from its first entry to the export' in found.checked
    assert b'"p9"' in forgery.read(made.path)["data/leaves.ndjson"]
    assert b'"p9"' not in forgery.read(masked.path)["data/leaves.ndjson"]
    assert verify_package(masked.path, key=masked.key).faults == []


@pytest.mark.parametrize(
    ("process", "shown"),
    depth.few(
        [
            ("a;'=b", "a;=b"),
            ("'=b", "=b"),
            ("'=a;=b", "=a;'=b"),
            ("a;'=b;'=c", "a;'=b;=c"),
            ("a;=b", "a;'=b"),
            ("'=a;=b", "'=a;'=b"),
        ],
        3,
    ),
)
@pytest.mark.parametrize(
    ("column", "fault"),
    [
        ("kind", "entry 1: entries.csv does not quote process_id as it is"),
        ("state", "processes.csv names the process {shown}, which is not here"),
    ],
)
def test_no_process_is_shown_by_the_name_of_another_that_has_an_apostrophe_less(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    process: str,
    shown: str,
    column: str,
    fault: str,
) -> None:
    """Apostrophes that a name has itself were taken for those that keep spreadsheets from running
    a cell, so tables of `a;'=b` spoke of `a;=b`, which may be another process of the log."""
    cell = formats.csv_cell(process)
    honest = tables.rows_of

    def lying(table: Any) -> Iterator[tables.Rows]:
        for rows in honest(table):
            is_meant = column in table.column_names
            yield [tuple(shown if is_meant and it == cell else it for it in row) for row in rows]

    with closing(LedgerService(settings_in(tmp_path))) as opened:
        said = json.dumps(review("e1", process, "s1")).encode()
        opened.inbox.append([read_line(said, recorded_by="file")])
        monkeypatch.setattr(tables, "rows_of", lying)
        exported = export(opened, Scope(process_id=process), tmp_path / "odd.zip")
    expected = [] if cell == shown else [fault.format(shown=verify.quoted(shown))]
    assert verify.verify(exported.path, exported.key).faults == expected
