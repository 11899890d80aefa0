"""What a masked package holds where ids are phone numbers, begin with a sign, or are plain numbers,
and where processes share an artifact that no collection of it shows."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline import verify
from pipeline.audit import export as evidence
from pipeline.audit.package import preparing, tables
from pipeline.audit.package.disclosure import Disclosure
from pipeline.audit.package.drafts import TableFiles
from pipeline.audit.package.masking import Masking
from pipeline.audit.package.tables import Stating
from pipeline.audit.reproduce import verify_package
from pipeline.audit.request import Scope
from pipeline.continuity.service import LedgerService
from pipeline.ledger.facts import TABLES
from tests import depth
from tests.audit import forgery
from tests.audit.conftest import EVERYTHING, export, no_rows
from tests.support.ledgers import draft
from tests.support.lines import aci, acp, answered, finished, seller, started, webhook
from tests.support.stores import settings_in

PHONE, BANK_ACCOUNT, SCREEN = "+5511987654321", "12345678901", "ab" * 32
CPF = "529.982.247-25"
WRONG = {"reason": "REGISTRATION_INCONSISTENCY", "detail": "the CPF of maria"}
CALLED = {"reason": "REGISTRATION_INCONSISTENCY", "detail": f"tel:{PHONE}"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LedgerService]:
    whose = {"process_id": "maria p1", "seller_id": PHONE}
    away = {"sha256": SCREEN, "kept": "elsewhere"}
    shared = {"artifacts": [{"name": "screen.png", "media_type": "image/png", **away}]}
    account = {"id": BANK_ACCOUNT, "customer_id": PHONE}
    coded = dict.fromkeys(("mcc", "resource", "type", "marketplace_id"), "= maria")
    worded = {
        "source": f"bureau-{CPF}",
        "fields": {"documents": {CPF: "1"}, "ana@loja.example": ""},
    }
    screen = {"name": "a.png", "media_type": f"image/{CPF}", **away}
    text = {**away, "name": "a.txt", "media_type": "text/plain; charset=utf-8", "sha256": "cd" * 32}
    asked = ["revenue", f"documents.{CPF}", "documents.0", "by.ana%40loja"]
    history = [
        acp("= maria", process_id="maria p1", customer_id=PHONE),
        acp(
            "= maria",
            "2026-03-01T12:00:01Z",
            status="OVERDUE",
            process_id="maria p1",
            customer_id=PHONE,
        ),
        acp("e5", "2026-03-01T12:00:02Z", process_id="p5", customer_id={"name": "maria"}),
        aci("e6", "2026-03-01T12:00:03Z", process_id="p6", customer_id=int(PHONE)),
        acp("e8", process_id="p8", status=f"of-{CPF}", requested_fields=asked),
        acp("e12", process_id="p13", requested_fields=["12.ABC.345/of maria.90"]),
        acp("e9", process_id="p9", deadline_at="2026-04-30T12:00:00.123+0000"),
        acp("e88", process_id="p8", type=f"ACP-{CPF}", requested_fields=asked),
        answered(process_id="p8", journey_id=f"j-{CPF}", artifacts=[screen, text], **worded),
        started(
            "8", process_id="p8", body={CPF: 1, "documents": {CPF: "1"}, "ana@loja.example": ""}
        ),
        finished("8", process_id="p8"),
        webhook({"id": "e10", "type": f"seller.of.{CPF}"}),
        seller("updated", "e4", status=f"of-{CPF}", **coded),
        seller("created", "e2", seller_id=PHONE, revenue=777770777.5, uri=f"/sellers/{PHONE}"),
        seller("denied", "e7", seller_id=PHONE, decision_reasons=[WRONG, CALLED]),
        webhook({"id": "e3", "type": "bank_account.associated", "payload": {"object": account}}),
        answered(**whose, **shared),
        answered(process_id="p2", seller_id="s2", journey_id="j2", **shared),
        aci("e11", process_id="prc.20260301120000"),
        answered(process_id="prc.20260301120000", journey_id="prc.20260301120000"),
        started("2", **whose, idempotency_key=PHONE, body={"type": "= maria"}),
        finished("2", 500, process_id="maria p1"),
        started("3", "2026-03-03T00:00:00Z", **whose),
        finished("3", 500, "2026-03-03T00:00:01Z", process_id="maria p1"),
        started("4", process_id="p12", seller_id="s12"),
        finished("4", None, process_id="p12", error="connection refused for Olinda, Rua 12"),
    ]
    with closing(LedgerService(settings_in(tmp_path_factory.mktemp("masked")))) as opened:
        opened.inbox.append([made for line in history if (made := draft(line)) is not None])
        opened.catch_up()
        yield opened


def test_no_id_of_a_person_stands_in_it_and_no_number_is_taken_for_one(
    service: LedgerService, tmp_path: Path
) -> None:
    """What stood in the place of an id, such as a whole record, was shown as it came.
    Before a phone number stood the apostrophe that spreadsheets want, so it was taken for none;
    and where an attempt was called `2`, so was the number of attempts. A denial's detail, by which
    the platform said whose CPF is wrong, or whom it called, was stated as it came, and so was what
    stood in the place of the codes of a seller's record and of a payload's type. A CPF in a path,
    or in the place of an event's type, of a review's type or status or of a source, was shown
    everywhere. What stood behind the dot of an instant was taken for a number, and a text's charset
    for words. No package was verified in which a journey is called as its process is, and has a
    part like a number, nor one in which a keyed hash stands in a path where it makes a CNPJ of the
    parts beside it."""
    exported = export(service, EVERYTHING, tmp_path / "m.zip", "masked")
    verdict = verify_package(exported.path, key=exported.key)
    assert verdict.faults == []
    assert not any(".csv: " in it for it in verdict.unchecked)  # all rows follow from the entries
    files = forgery.read(exported.path)
    assert b"text/plain; charset=utf-8" in files["data/stated/facts.artifacts.ndjson"]
    plain = (
        PHONE,
        PHONE[1:],
        BANK_ACCOUNT,
        SCREEN,
        "maria",
        "777770777",
        CPF,
        "ana@loja",
        "ana%40",
    )
    found = [(it, name) for it in plain for name, held in files.items() if it.encode() in held]
    assert found == []
    [attempts] = [
        row["attempts"]
        for row in forgery.parse_csv(files["data/processes.csv"])
        if row["attempts"] != "0" and row["process_id"] not in ("p8", "p12")
    ]
    assert attempts == "2"
    findings = forgery.parse_csv(files["data/findings.csv"])
    assert {"event_altered", "evidence_reused"} <= {it["rule"] for it in findings}
    assert all(it["seq"].isdecimal() for it in findings)
    assert any(it["detail"].startswith("detail: hmac:") for it in findings)
    [of_p8] = [it for it in findings if it["rule"] == "acp_incomplete" and it["process_id"] == "p8"]
    paths = [row["path"] for row in forgery.parse_csv(files["data/coverage.csv"])]
    [covered] = [path for path in paths if path.startswith("documents.hmac:")]
    assert covered not in of_p8["detail"]
    entries = forgery.parse_csv(files["data/entries.csv"])
    assert {it["body"] for it in entries if it["process_id"] == "p9"} == {"disclosed"}
    assert "documents.0" in of_p8["detail"]


@pytest.mark.parametrize(
    ("seller", "named"),
    [
        ("sel_1", "-sel_1"),
        ("sel_12abc34501de35", "-sel_12abc34501de35"),
        ("cnpj12abc34501de35", ""),
        ("12ABC34501DE35", ""),
        ("12abc34501de35", ""),
        ("cnpj-12ABC34501DE35", ""),
        ("52998224725", ""),
        ("seller.529.982.247-25", ""),
        ("(11) 98765-4321", ""),
        ("ana@loja.example", ""),
        ("ana%40loja.example", ""),
    ],
)
def test_no_file_is_named_by_an_id_that_looks_personal(seller: str, named: str) -> None:
    """A CNPJ with letters was one of its names, and so was a telephone number with brackets."""
    said = {"scope": {"seller": seller}, "as_of": "2026-06-01T00:00:00Z"}
    assert evidence._file_name(said, 17) == f"prazo-audit_seller{named}_2026-06-01_17.zip"


@no_rows
def test_a_stated_number_that_no_database_holds_is_a_fault(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With more than a few rows of a table it was a traceback, and no verdict."""
    honest_state = TableFiles.state

    def state(self: TableFiles, table: str, rows: list[list[Any]]) -> None:
        is_webhook = table == "fact_webhooks"
        altered = [[*row[:3], 2**70, *row[4:]] if is_webhook else row for row in rows]
        honest_state(self, table, altered)

    monkeypatch.setattr(TableFiles, "state", state)
    exported = export(service, EVERYTHING, tmp_path / "m.zip", "masked")
    [fault] = verify_package(exported.path, key=exported.key).faults
    assert fault.startswith("the tables cannot be made again: OverflowError")


# --- an exporter who masks nothing ---------------------------------------------------------------


def test_a_masked_package_that_shows_what_its_profile_hides_is_not_verified(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was verified without a word, whatever bodies it showed: answers, payloads, and reviews
    that name a person in the place of a code."""
    of_p8 = [it for it in service.inbox.read(0, 100) if it.process_id == "p8"]
    monkeypatch.setattr(Masking, "is_impersonal", lambda _, entry: entry.process_id == "p8")
    exported = export(service, Scope(process_id="p8"), tmp_path / "m.zip", "masked")
    monkeypatch.undo()
    assert [it.kind for it in of_p8][:3] == ["webhook", "webhook", "collection"]
    assert verify_package(exported.path, key=exported.key).faults == [
        f"entry {entry.seq}: the masked profile hides its body" for entry in of_p8 if entry.body
    ]
    assert verify.MASKED in verify.verify(exported.path, exported.key).unchecked
    honest = export(service, Scope(process_id="p8"), tmp_path / "h.zip", "masked")
    found = verify_package(honest.path, key=honest.key)
    assert (found.faults, verify.MASKED in found.unchecked) == ([], False)


def test_what_a_masked_package_states_is_masked(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first name, a seller's revenue, and what stood in the place of codes and paths were stated
    as they came, and verified."""
    honest_stated = Stating._stated

    def stated(self: Stating, column: str, value: Any) -> Any:
        if column == "first_name":
            return "Maria"
        is_plain = column in ("type", "paths", "path", "revenue")
        return value if is_plain else honest_stated(self, column, value)

    monkeypatch.setattr(Stating, "_stated", stated)
    exported = export(service, EVERYTHING, tmp_path / "m.zip", "masked")
    monkeypatch.undo()
    faults = verify_package(exported.path, key=exported.key).faults
    found = [it.partition("hides what data/stated/facts.")[2].partition(".")[0] for it in faults]
    assert {*filter(None, found)} == {
        *("answered_fields", "collections", "sent_fields", "seller_events"),
    }


@no_rows
@pytest.mark.parametrize(
    ("table", "column", "value"),
    depth.few(
        [
            ("artifacts", "sha256", b"maria da silva".hex()),
            ("webhooks", "content_sha256", b"maria da silva".hex()),
            ("collections", "channel", "maria da silva"),
            ("collections", "step", CPF),
            ("unreadable_parts", "part", CPF),
        ],
        2,
    ),
)
def test_nothing_is_stated_in_the_place_of_a_digest_or_of_a_code_of_ours(
    service: LedgerService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    table: str,
    column: str,
    value: str,
) -> None:
    """Whatever stood there was verified, as what the masked profile does not hide."""
    honest_state, entries = TableFiles.state, set[int]()

    def state(self: TableFiles, name: str, rows: list[list[Any]]) -> None:
        if name == f"fact_{table}":
            at = next(kind for kind, it in TABLES.items() if it == name)._fields.index(column)
            rows = [[*row[:at], value, *row[at + 1 :]] for row in rows]
            entries.update(row[0] for row in rows)
        honest_state(self, name, rows)

    monkeypatch.setattr(TableFiles, "state", state)
    exported = export(service, EVERYTHING, tmp_path / "m.zip", "masked")
    monkeypatch.undo()
    said = f"the masked profile hides what data/stated/facts.{table}.ndjson says"
    faults = verify_package(exported.path, key=exported.key).faults
    assert [it for it in faults if "the masked profile" in it] == [
        f"entry {seq}: {said}" for seq in sorted(entries)
    ]


@no_rows
def test_no_identifier_is_named_in_a_masked_package(
    service: LedgerService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Naming(Disclosure):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.restored = {self.replaced.pop(PHONE): PHONE}

        def new_name(self, identifier: str | None) -> str | None:
            return PHONE if identifier == PHONE else super().new_name(identifier)

    monkeypatch.setattr(preparing, "Disclosure", Naming)
    exported = export(service, EVERYTHING, tmp_path / "m.zip", "masked")
    assert verify.verify(exported.path, exported.key).faults == []
    faults = verify_package(exported.path, key=exported.key).faults
    assert faults == ["names.ndjson gives identifiers, which the masked profile hides"]


def test_what_the_kinds_of_columns_say_is_what_packages_rename() -> None:
    """The columns with codes stood in a list of names beside the headers that declare them."""
    kinds: dict[str, set[str]] = {"id": set(), "text": set()}
    for name in tables.TABLES.keys() - {tables.QUOTES}:
        for column, kind in tables.kinds_of(name).items():
            kinds.get(kind, set()).add(column)
    assert kinds == {
        "id": {"process_id", "seller_id"},
        "text": {"answer_source", "detail", "path", "reported_status", "requested_fields"},
    }
