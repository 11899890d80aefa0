"""Records that a masked package withholds, since its mask hides a part of them: what is said in
their place, and what an exporter cannot withhold."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline import verify
from pipeline.audit.package.drafts import Reading
from pipeline.audit.package.masking import Masking
from pipeline.audit.package.tables import Stating
from pipeline.audit.reproduce import verify_package
from pipeline.audit.request import Scope
from pipeline.continuity.service import LedgerService
from pipeline.inbox import open_inbox
from pipeline.ledger.facts import recorded_name
from pipeline.log import erasures
from pipeline.log.entries import Entry
from pipeline.log.reconciling import reconciliation
from pipeline.verify import Verdict
from tests import depth
from tests.audit import forgery
from tests.audit.conftest import EVERYTHING, export, no_rows, quick_signatures
from tests.audit.forgery import Files
from tests.support.ledgers import draft
from tests.support.lines import acp, answered, finished, started
from tests.support.stores import settings_in

CPF = "529.982.247-25"
WORDS = "connection refused for Olinda, Rua 12"
OF_P1 = Scope(process_id="p1")
ENDED = "submission_finished"
IN_PLACE = b'"the masked profile"\n'
UNSAID, SAID, CODE, START = 3, 5, 7, 8
"""Ends of attempts: in words and without a body, in words beside one, by a code; and the start of
one whose key looks like a tax id."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LedgerService]:
    history = [
        acp(),
        started("a1"),
        finished("a1", None, error=WORDS),
        started("a2", "2026-03-03T00:00:00Z"),
        finished("a2", 500, "2026-03-03T00:00:01Z", error=WORDS, body="no"),
        started("a3", "2026-03-04T00:00:00Z"),
        finished("a3", None, "2026-03-04T00:00:01Z", error="refused"),
        started("a4", "2026-03-05T00:00:00Z", body=None),
        answered("2026-03-01T18:00:00Z"),
        finished("a4", None, "2026-03-05T00:00:01Z", error="timeout", origin="live"),
    ]
    drafts = [made for line in history if (made := draft(line)) is not None]
    of_cpf = {**drafts[7].particulars, "idempotency_key": CPF}
    drafts[7] = drafts[7]._replace(particulars=of_cpf)
    said = {"reason": "r", "actor": "Ana", "recorded_by": "user:ana"}
    drafts += [
        erasures.erasure({}, **said, seller_id="s1", process_id="p1", taxpayer_mark=""),
        reconciliation(
            **said,
            fork=1,
            abandoned_size=1,
            abandoned_root=b"\0" * 32,
            recorded_again=0,
            reached=1,
            checkpoint=None,
        ),
    ]
    settings = settings_in(tmp_path_factory.mktemp("records"))
    with closing(open_inbox(settings.inbox)) as inbox:
        inbox.append(drafts)
    with closing(LedgerService(settings)) as opened:
        opened.catch_up()
        opened.signing.rotate(actor="Ana", reason="r", recorded_by="user:ana")
        opened.catch_up()
        yield opened


def verdict_on(
    files: Files, service: LedgerService, out: Path, form: str = forgery.FORMAT
) -> Verdict:
    """Of `verify.py`, on files that somebody sealed again who has the key."""
    assert service.signer is not None
    path = forgery.write(out, forgery.seal(files, service.signer, form=form))
    return verify.verify(path, str(service.signer.key))


def test_a_record_of_which_the_mask_hides_something_is_withheld_and_its_mask_stated(
    service: LedgerService, tmp_path: Path
) -> None:
    """What another system wrote of an attempt's end, and a CPF in the place of an idempotency key,
    stood whole in `data/records.ndjson`."""
    made = export(service, OF_P1, tmp_path / "m.zip", "masked")
    files = forgery.read(made.path)
    plain = [it for it, held in files.items() if b"Olinda" in held or CPF.encode() in held]
    assert plain == []
    records = files["data/records.ndjson"].splitlines(keepends=True)
    assert [at for at, it in enumerate(records, 1) if it == IN_PLACE] == [
        UNSAID,
        SAID,
        START,
    ]
    assert b'"error":"refused"' in records[CODE - 1]
    contents = json.loads(files["data/contents.json"])
    assert contents["withheld_records"] == {"submission_finished": 2, "submission_started": 1}
    assert b"2 \xc3\x97 Submission answered: record" in files["data/report.html"]
    errors = {it["seq"]: it["error"] for it in forgery.parse_csv(files["data/entries.csv"])}
    assert [errors[str(it)] for it in (UNSAID, SAID, CODE)] == [
        *["connection refused ***"] * 2,
        "refused",
    ]
    for found in (verify.verify(made.path, made.key), verify_package(made.path, key=made.key)):
        assert found.faults == []
        [of_records] = [it for it in found.unchecked if "records that are withheld" in it]
        assert of_records.startswith("the content of 3 records that are withheld (the masked prof")
        assert not any("rows that rest on" in it for it in found.unchecked)


def test_a_full_package_shows_every_record(service: LedgerService, tmp_path: Path) -> None:
    made = export(service, OF_P1, tmp_path / "f.zip", withhold=frozenset({SAID}))
    assert verify_package(made.path, key=made.key).faults == []
    records = forgery.read(made.path)["data/records.ndjson"]
    assert IN_PLACE not in records
    assert records.count(WORDS.encode()) == 2


# --- an exporter who withholds what no package may -----------------------------------------------


@no_rows
@quick_signatures
@pytest.mark.parametrize("profile", ["full", "masked"])
def test_no_other_record_is_withheld(service: LedgerService, tmp_path: Path, profile: Any) -> None:
    """Each in turn, of every kind that has one: that of an erasure says which bodies were erased,
    and our own attempts say by a code why they had no answer. Nor is one withheld that
    contents.json, which the export's own entry fixes, does not count."""
    made = export(service, EVERYTHING, tmp_path / "p.zip", profile)
    files = forgery.read(made.path)
    lines = files["data/records.ndjson"].splitlines(keepends=True)
    leaves = [json.loads(it) for it in files["data/leaves.ndjson"].splitlines()]
    kinds = [(it["kind"], it["origin"]) for it in leaves if "record_digest" in it]
    assert {"collection", "erasure", "webhook", "reconciliation"} <= {kind for kind, _ in kinds}
    assert (ENDED, "live") in kinds
    assert len(kinds) == len(lines)
    faults = {}
    for at, kind in enumerate(kinds):
        if lines[at] != IN_PLACE:
            changed = b"".join([*lines[:at], IN_PLACE, *lines[at + 1 :]])
            forged = {**files, "data/records.ndjson": changed}
            [fault] = verdict_on(forged, service, tmp_path / "f.zip").faults
            faults[kind] = fault
    assert len(faults) == len({*kinds})
    alone = "is withheld, as only a masked package may do, and only of an attempt's start, or"
    is_masked = profile == "masked"
    for (kind, origin), fault in faults.items():
        may_lack_it = kind.startswith("submission") and (kind, origin) != (ENDED, "live")
        assert (alone in fault) != (is_masked and may_lack_it), fault


def test_a_record_is_not_withheld_for_nothing_nor_shown_where_it_should_be(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why an attempt was refused is in its record alone."""
    monkeypatch.setattr(Stating, "hides_of_records", lambda *_: {CODE})
    made = export(service, OF_P1, tmp_path / "m.zip", "masked")
    monkeypatch.undo()
    found = verify.verify(made.path, made.key)
    assert found.faults == []
    assert any(it.startswith("the content of 1 record that is withheld") for it in found.unchecked)
    assert verify_package(made.path, key=made.key).faults == [
        f"entry {UNSAID}: the masked profile hides its record",
        f"entry {SAID}: the masked profile hides its record",
        f"entry {START}: the masked profile hides its record",
        f"entry {CODE}: its record is withheld, and nothing of it is masked",
    ]


@pytest.mark.parametrize(
    ("seq", "table", "column", "value"),
    depth.few(
        [
            # The records of these are shown, and their bodies are withheld.
            (2, "fact_attempt_starts", "via", "api"),
            (2, "fact_attempt_starts", "timeout_seconds", 20.0),
            (2, "fact_attempt_starts", "idempotency_key", "p2"),
            # These have a withheld record, and no body.
            (START, "fact_attempt_starts", "is_object", True),
            (START, "fact_attempt_starts", "payload_type", "individual"),
            (START, "fact_attempt_starts", "body_size", 17),
            (UNSAID, "fact_attempt_finishes", "status", 200),
            (UNSAID, "fact_attempt_finishes", "occurred_at", 0),
        ],
        3,
    ),
)
def test_what_is_stated_is_what_leaf_and_record_say(
    service: LedgerService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seq: int,
    table: str,
    column: str,
    value: object,
) -> None:
    """What a shown record says was stated otherwise of a body that was withheld, and verified."""
    honest_of = Stating.of

    def of(self: Stating, withheld: Any) -> Iterator[tuple[str, list[list[Any]]]]:
        for name, rows in honest_of(self, withheld):
            at = self._copy.columns(name).names.index(column) if name == table else -1
            for row in rows:
                if name == table and row[0] == seq:
                    row[at] = value
            yield name, rows

    monkeypatch.setattr(Stating, "of", of)
    made = export(service, OF_P1, tmp_path / "m.zip", "masked")
    [fault] = verify_package(made.path, key=made.key).faults
    assert fault.endswith(
        f"{recorded_name(table)}.ndjson gives entry {seq} another {column} than the log"
    )


@no_rows
@quick_signatures
@pytest.mark.parametrize(
    ("table", "row", "fault"),
    [
        ("fact_sent_fields", [START, "a4", "p1", "revenue"], "states what no withheld"),
        ("fact_attempt_finishes", [UNSAID, "a1"], "2 rows of attempt_finishes about it, instead"),
    ],
)
def test_no_more_is_stated_of_an_entry_without_body_than_its_record_can_hold(
    service: LedgerService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    table: str,
    row: list[Any],
    fault: str,
) -> None:
    """Fields of a payload that was never sent would be evidence of an answer."""
    honest_take = Reading.take

    def take(self: Reading, batch: list[Entry]) -> None:
        honest_take(self, batch)
        self._files.state(table, [row])
        path = self._files.paths[f"data/stated/{recorded_name(table)}.ndjson"]
        assert isinstance(path, Path)
        rows = path.read_bytes().splitlines(keepends=True)
        stated = sorted(rows, key=lambda line: json.loads(line)[0])
        path.write_bytes(b"".join(stated))

    monkeypatch.setattr(Reading, "take", take)
    made = export(service, OF_P1, tmp_path / "m.zip", "masked")
    [found] = verify.verify(made.path, made.key).faults
    assert fault in found


@no_rows
@quick_signatures
def test_a_record_is_withheld_with_its_body_alone(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Masking, "is_impersonal", lambda *_: True)
    made = export(service, OF_P1, tmp_path / "m.zip", "masked")
    assert verify.verify(made.path, made.key).faults == [
        f"entry {SAID}: its record is withheld, and its body is not"
    ]


@no_rows
@quick_signatures
def test_contents_count_the_records_that_are_withheld(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report says that nothing else was left out."""
    monkeypatch.setattr(Reading, "without_record_by_kind", lambda _: {})
    made = export(service, OF_P1, tmp_path / "m.zip", "masked")
    assert verify.verify(made.path, made.key).faults == [
        "contents.json counts other withheld records than there are"
    ]
