"""A person is forgotten: nothing of them is left, and all else says and proves what it did."""

import hashlib
import json
import os
import shutil
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants
from pipeline.clearance import acts
from pipeline.clearance.clearances import Awaited, decide
from pipeline.cli.doctor.erasures import erasures
from pipeline.continuity.service import LedgerService
from pipeline.continuity.stores import audit
from pipeline.erasure import finding, forgetting
from pipeline.erasure.forgetting import Forgotten, forget
from pipeline.errors import CallerError, NoRoom, OperatorError, WrongUsage
from pipeline.inbox import Inbox, open_inbox
from pipeline.inbox.artifacts import artifact_store
from pipeline.ledger.views.catalogue import catalogue
from pipeline.log.actions import By
from pipeline.log.artifacts import FolderArtifacts
from pipeline.log.deliveries import delivery
from pipeline.log.entries import Draft
from pipeline.log.kinds.erasure import ERASURE
from pipeline.log.kinds.quarantine import QUARANTINE
from pipeline.log.kinds.seller_notice import by_hand
from pipeline.settings import Settings
from tests import depth
from tests.audit import story
from tests.erasure import person
from tests.erasure.conftest import ON_SQLITE, stores
from tests.support.machine import killed

SAID = {"reason": "she asked", "actor": "ana", "recorded_by": "user:ana"}

# Columns of the person herself, and what people wrote of her: what is left is null.
PERSONAL = {
    "seller_state": {
        *("first_name", "last_name", "email", "taxpayer_id", "phone_number", "birthdate"),
        *("address", "metadata", "document_number", "account_balance", "current_balance"),
        *("ein", "business_name", "business_email", "business_phone", "business_address"),
        "business_owner",
        *("revenue", "uri"),
    },
    "collections": {"actor"},
    "notes": {"note"},
    "timeline": {"reason", "note"},
    "findings": {"detail"},
    "changes": {"subject"},
    "log_entries": {"actor", "reason", "body"},
    "seller_names": {"first_name", "last_name"},
    "seller_notices": {"promised_for", "note"},
    # Without the balance nothing says as of when it was.
    "seller_watchlist": {"current_balance", "balance_at"},
    "savable_sellers": {"current_balance", "balance_at"},
    "sellers_by_chance": {"current_balance", "balance_at"},
}
AS_OF = 1_790_000_000_000_000
"""In 2026, after all that the history tells, and before any erasure."""


def done(settings: Settings, seller_id: str = person.SELLER, **more: bool) -> Forgotten:
    with closing(open_inbox(settings.inbox)) as inbox:
        return forget(settings, inbox, seller_id, **SAID, **more)


def bodies(inbox: Inbox) -> bytes:
    return b"\n".join(it.body or b"" for it in inbox.read(0, 100))


def views(settings: Settings, *names: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of these views, or of every view that stands for itself, as anyone who may see
    people has them."""
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        return {
            name: service.reader.read(name, as_of=AS_OF, unmask=True).to_pylist()
            for name, view in catalogue().items()
            if (name in names if names else view.is_public)
        }


def test_nothing_of_the_person_is_left_in_any_store(settings: Settings) -> None:
    with closing(open_inbox(settings.inbox)) as inbox:
        before = bodies(inbox)
    assert all(word.encode() in before for word in person.WORDS)
    erased = done(settings)
    assert erased.kinds == person.ERASED
    assert (erased.artifacts, erased.shared_artifacts, erased.is_cut) == (1, 1, True)
    with closing(open_inbox(settings.inbox)) as inbox:
        after = bodies(inbox)
        store = artifact_store(settings, inbox)
        kept = [store.read(it) for it in store.names()]
    assert [word for word in person.WORDS if word.encode() in after] == []
    assert kept == [person.SHARED]
    with closing(LedgerService(settings)) as service:
        held = b"\n".join(it.body or b"" for it in service.ledger.select("true", []))
    assert [word for word in person.WORDS if word.encode() in held] == []
    for file in settings.ledger.parent.rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert [word for word in person.WORDS if word.encode() in content] == [], file


def test_every_view_says_the_same_but_for_what_is_of_the_person(settings: Settings) -> None:
    before = views(settings)
    done(settings)
    after = views(settings)
    assert before.keys() == after.keys()
    for name, rows in before.items():
        now = after[name]
        if name in ("ledger_health", "seller_holdings"):  # these say what was erased
            continue
        if name == "log_entries":  # the one that has entries of whatever instant
            now = now[: len(rows)]
        if name in ("seller_identities", "seller_names"):  # of hers there is none any more
            rows = [it for it in rows if it["seller_id"] != person.SELLER]
        assert len(now) == len(rows), name
        for row, others in zip(rows, now, strict=True):
            differing = {column for column in row if row[column] != others[column]}
            assert differing <= PERSONAL.get(name, set()), (name, row, others)
    [seller] = [it for it in after["seller_state"] if it["seller_id"] == person.SELLER]
    assert {seller[it] for it in PERSONAL["seller_state"]} == {None}
    [process] = [it for it in after["process_state"] if it["process_id"] == person.PROCESS]
    assert process["state"] == "FINISHED"


@ON_SQLITE
def test_what_was_said_in_a_call_goes_as_a_note_does(settings: Settings) -> None:
    call = by_hand(
        "call_1",
        "phone",
        outcome="reached",
        promised_for="2026-03-20",
        note="Mariana moves to Olinda",
        actor="bia",
        recorded_by="bia",
        process_id=person.PROCESS,
        seller_id=person.SELLER,
    )
    with closing(open_inbox(settings.inbox)) as inbox:
        inbox.append([call._replace(occurred_at=instants.parse("2026-03-06T14:00:00Z"))])

    def notes() -> list[str | None]:
        [notice] = views(settings, "seller_notices")["seller_notices"]
        timeline = views(settings, "timeline")["timeline"]
        [entry] = [it for it in timeline if it["kind"] == "seller_notice"]
        assert (notice["actor"], entry["reason"]) == ("bia", None)
        return [notice["note"], entry["note"]]

    assert notes() == ["Mariana moves to Olinda"] * 2
    done(settings)
    assert notes() == [None] * 2


@ON_SQLITE
def test_who_came_back_still_did(settings: Settings) -> None:
    """By tax ids. Before: with the id gone nobody had ever come back, or been cured."""
    told = [
        ("2026-03-10T09:00:00Z", "seller.denied", "sel_2", "111.444.777-35"),
        ("2026-03-11T09:00:00Z", "seller.created", "sel_3", "11144477735"),
        ("2026-03-12T09:00:00Z", "seller.enabled", "sel_3", "11144477735"),
        ("2026-03-10T10:00:00Z", "seller.denied", "sel_4", "22255588846"),
        ("2026-03-10T11:00:00Z", "seller.updated", "sel_4", "--"),  # no other id than that now
        ("2026-03-11T10:00:00Z", "seller.created", "sel_5", "22255588846"),
    ]
    lines = [
        person.event(at, f"r{n}", kind, {"id": seller_id, "taxpayer_id": taxpayer_id})
        for n, (at, kind, seller_id, taxpayer_id) in enumerate(told)
    ]
    with closing(open_inbox(settings.inbox)) as inbox:
        person.add_lines(inbox, *lines)
    asked = ("denial_retries", "denial_headline", "return_weeks", "returned_sellers")
    before = views(settings, *asked)
    assert [it["reonboarded"] for it in before["denial_retries"]] == [1]
    for seller_id in ("sel_2", "sel_3", "sel_4", "sel_5"):
        done(settings, seller_id)
    assert views(settings, *asked) == before


def test_the_log_verifies_and_a_rebuilt_ledger_is_the_same(settings: Settings) -> None:
    done(settings)
    with closing(LedgerService(settings)) as service:
        verdict = audit(service)
        assert verdict.faults == []
        whose_word = [it for it in verdict.notes if "the word of whoever erased them" in it]
        assert [it.partition(":")[0] for it in whose_word] == ["what stays of 12 erased entries"]
        root, facts = service.ledger.frontier.root(), _facts(service)
        service.rebuild()
        assert (service.ledger.frontier.root(), _facts(service)) == (root, facts)


def _facts(service: LedgerService) -> dict[str, list[tuple[Any, ...]]]:
    from pipeline.ledger.facts import TABLES

    return {it: service.ledger.facts_between(it, 1, service.ledger.size) for it in TABLES.values()}


def test_events_that_nobody_can_place_go_where_they_name_the_seller(settings: Settings) -> None:
    """Of a type that the contract does not list, with the whole record: they stayed for ever."""
    with closing(open_inbox(settings.inbox)) as inbox:
        for number in range(finding.ENTRIES_PER_READ):
            story.deliver_bytes(inbox, b'{"id":"u%d","type":"seller.checked"}' % number)
        for seller_id, name in ((person.SELLER, "Mariana"), (person.OTHER, "Joana")):
            record = {"person": {"seller": seller_id, "first_name": name}}
            event = {"id": f"of {seller_id}", "type": "seller.checked", "payload": record}
            story.deliver_bytes(inbox, json.dumps(event).encode())
        assert forget(settings, inbox, person.SELLER, **SAID).kinds["webhook"] == 7
        held = {it.event_id: it for it in inbox.read(0, 200) if it.event_id is not None}
    assert held["of sel_1"].is_erased
    assert not held["of sel_10"].is_erased
    assert b"Mariana" not in (held["of sel_1"].body or b"")
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        assert audit(service).faults == []


def test_a_redelivery_afterwards_counts_as_one_and_brings_nothing_back_of_what_was(
    settings: Settings,
) -> None:
    done(settings)
    [line] = [it for it in person.history() if it.get("body", {}) and _id(it) == "e1"]
    with closing(open_inbox(settings.inbox)) as inbox:
        body = json.dumps(line["body"]).encode()
        inbox.append([delivery(body, occurred_at=AS_OF - 1, recorded_by="webhook")])
    found = views(settings, "redeliveries", "findings")
    [row] = [it for it in found["redeliveries"] if it["event_id"] == "e1"]
    assert row["deliveries"] == 2
    altered = [it for it in found["findings"] if it["rule"] == "event_altered"]
    assert [it["process_id"] for it in altered] == [person.PROCESS]  # e4, as before


def _id(line: dict[str, Any]) -> str | None:
    body = line["body"]
    return body.get("id") if isinstance(body, dict) else None


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_postgres_may_overwrite_what_every_table_let_go_of(settings: Settings) -> None:
    """Before: it was told of the entries alone, and artifacts stayed for as long as it liked."""
    done(settings)
    with closing(open_inbox(settings.inbox)) as inbox:
        asked = "select relname from pg_stat_user_tables where vacuum_count > 0"
        vacuumed = {name for (name,) in inbox.query(asked)}
    assert vacuumed == {
        *("entries", "artifact_chunks", "artifact_owners"),
        *("journeys", "journey_sessions", "journey_flow"),
    }


# --- whose it is ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seller_id", "body", "is_hers"),
    [
        ("sel_2", r'{"x":{"id":"sel\u005F2","n":"Mariana"', True),
        ("sel/2", r'{"x":{"id":"sel\/2","n":"Mariana"', True),
        ("joão", r'{"x":{"id":"jo\u00e3o","n":"Mariana"', True),
        ("\N{GRINNING FACE}", r'{"x":{"id":"\ud83d\ude00","n":"Mariana"', True),
        ('s"2', r'{"x":{"id":"s\"2","n":"Mariana"', True),
        ("77", '{"x":{"id": 77,"n":"Mariana"', True),
        ("77", '{"x":{"id":770,"n":"Mariana"', False),
        ("77", '{"x":{"id":77.5,"n":"Mariana"', False),
        ("77", '{"x":{"id":"s","retries":77,"n":"Mariana"', False),
        ("sel_2", '{"x":{"id":"sel_20","n":"Mariana"', False),
        ("sel_2", '{"x":{"id":"a sel_2","n":"Mariana"', False),
    ],
)
@ON_SQLITE
def test_what_was_in_quarantine_is_of_whom_it_names(
    seller_id: str, body: str, is_hers: bool, settings: Settings
) -> None:
    """Before: a broken delivery that escaped the id, or had it as a number, stayed."""
    known = person.event("2026-03-10T09:00:00Z", "q1", "seller.created", {"id": seller_id})
    with closing(open_inbox(settings.inbox)) as inbox:
        person.add_lines(inbox, known)
        [receipt] = inbox.append(
            [Draft(QUARANTINE, AS_OF, "webhook", body.encode(), {"reason": "it breaks off"})]
        )
        done(settings, seller_id)
        assert receipt.entry is not None
        [held] = inbox.read(receipt.entry.seq - 1, 1)
        assert held.is_erased is is_hers


@ON_SQLITE
def test_the_end_of_another_sellers_attempt_stays(settings: Settings) -> None:
    """Of a process that was put to two of them; a line of a file names nobody at the end. Before:
    what the platform had answered the other one went, too."""
    of_attempt = {"process_id": person.PROCESS, "attempt_id": "b1"}
    at = "2026-03-06T10:00:00Z"
    lines: list[dict[str, Any]] = [
        {"kind": "submission_started", "seller_id": person.OTHER, "body": {"of": "Joana"}},
        {"kind": "submission_finished", "status": 400, "error": None, "body": {"of": "Joana"}},
    ]
    with closing(open_inbox(settings.inbox)) as inbox:
        person.add_lines(inbox, *(of_attempt | {"occurred_at": at} | it for it in lines))
        before = inbox.find(attempt_id="b1")
        done(settings)
        assert inbox.find(attempt_id="b1") == before
        done(settings, person.OTHER)
        assert [it.is_erased for it in inbox.find(attempt_id="b1")] == [True, True]


# --- what is refused -----------------------------------------------------------------------------


def test_nothing_is_erased_while_the_platform_waits_for_an_answer(tmp_path: Path) -> None:
    settings = stores(tmp_path, is_finished=False)
    with pytest.raises(CallerError, match=r"not finished: prc_1 \(EXPIRED\)"):
        done(settings)
    with closing(open_inbox(settings.inbox)) as inbox:
        assert inbox.find(kind=ERASURE) == []
        line = person.event("2026-05-02T09:00:00Z", "e6", "seller.deleted", {"id": person.SELLER})
        person.add_lines(inbox, line)
    assert done(settings).entries == sum(person.ERASED.values())  # e5 is not there, and e6 is


@ON_SQLITE
def test_nothing_is_erased_without_a_name_a_reason_a_seller_or_the_key(settings: Settings) -> None:
    with closing(open_inbox(settings.inbox)) as inbox:
        before = inbox.read(0, 100)
        for more in ({"reason": " "}, {"actor": ""}):
            with pytest.raises(WrongUsage):
                forget(settings, inbox, person.SELLER, **{**SAID, **more})
        with pytest.raises(CallerError, match="no entry names the seller 'sel_2'"):
            forget(settings, inbox, "sel_2", **SAID)
        settings.taxpayer_key_file.unlink()
        with pytest.raises(OperatorError, match=r"taxpayer\.key is not there"):
            forget(settings, inbox, person.SELLER, **SAID)
        assert inbox.read(0, 100) == before


@ON_SQLITE
def test_a_dry_run_says_what_would_go_and_erases_nothing(settings: Settings) -> None:
    with closing(open_inbox(settings.inbox)) as inbox:
        before = inbox.read(0, 100)
        erased = done(settings, is_dry_run=True)
        assert (erased.kinds, erased.artifacts, erased.seqs) == (person.ERASED, 2, ())
        assert inbox.read(0, 100) == before


@ON_SQLITE
def test_it_waits_for_a_second_person_and_is_done_once(settings: Settings) -> None:
    of_two = settings.model_copy(update={"four_eyes": "forget"})
    terms = acts.Terms.of(of_two)
    with closing(open_inbox(settings.inbox)) as inbox:
        with pytest.raises(Awaited) as waits:
            forget(of_two, inbox, person.SELLER, **SAID)
        assert inbox.find(kind=ERASURE) == []
        asked = (inbox, terms, waits.value.request_id)
        ana, bia = (By("I saw the request", name, "user:bia") for name in ("ana", "bia"))
        with pytest.raises(CallerError, match="ana asked for it"):
            decide(*asked, "approved", ana, is_proved=False)
        decide(*asked, "approved", bia, is_proved=False)
        with pytest.raises(Awaited):  # it is a word about that seller
            forget(of_two, inbox, person.OTHER, **SAID)
        reworded = SAID | {"reason": "nobody said so"}
        assert forget(of_two, inbox, person.SELLER, **reworded).kinds == person.ERASED
        said_why = [json.loads(it.body or b"")["reason"] for it in inbox.find(kind=ERASURE)]
        assert said_why == ["she asked"] * len(said_why)  # as the second person read it
        again = forget(of_two, inbox, person.SELLER, **reworded)  # needs none: nothing is left
        assert (again.kinds, again.seqs) == ({}, ())
        person_again = person.event("2026-06-01T09:00:00Z", "f1", "seller.updated", {"id": "sel_1"})
        person.add_lines(inbox, person_again)
        with pytest.raises(Awaited):  # what came since waits for a word of its own
            forget(of_two, inbox, person.SELLER, **SAID)
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        requests = service.reader.read("clearances").to_pylist()
    [used] = [it for it in requests if it["state"] == "used"]
    assert (used["act"], used["requested_by"], used["decided_by"]) == ("forget", "ana", "bia")


# --- crashes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", depth.few(["change", "links", "artifacts", "cut"], 2))
@ON_SQLITE
def test_killed_at_a_step_the_next_run_goes_on(
    step: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`change`: after the first commit of several."""

    def die(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    names = {"links": "_forget_links", "artifacts": "_remove_artifacts", "cut": "cut"}
    with monkeypatch.context() as patched:
        if step == "change":
            patched.setattr(forgetting, "erasing", _second_time(die))
        else:
            patched.setattr(forgetting, names[step], die)
        killed(lambda: done(settings) and None)
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        faults = audit(service).faults
        assert faults == []
    done(settings)
    with closing(open_inbox(settings.inbox)) as inbox:
        assert [it for it in person.WORDS if it.encode() in bodies(inbox)] == []
        assert [*artifact_store(settings, inbox).names()] == [_sha256(person.SHARED)]
        named = [json.loads(it.body or b"")["entries"] for it in inbox.find(kind=ERASURE)]
        assert sum(named) == sum(person.ERASED.values())


def _second_time(die: Callable[[], None]) -> Callable[..., Any]:
    honest, calls = forgetting.erasing, []

    def erasing(*given: Any) -> Any:
        calls.append(given)
        return die() if len(calls) > 1 else honest(*given)

    return erasing


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_what_another_seller_gives_meanwhile_keeps_its_bytes(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A collection that found its bytes kept, and was recorded while they were removed, was
    acknowledged and had lost them."""
    digest = _sha256(person.SCREEN)

    def meanwhile(_: float) -> None:
        with closing(open_inbox(settings.inbox)) as inbox:
            inbox.append([person.named_by_other(digest)])

    monkeypatch.setattr(forgetting.time, "sleep", meanwhile)
    erased = done(settings)
    assert (erased.artifacts, erased.shared_artifacts) == (0, 2)
    with closing(open_inbox(settings.inbox)) as inbox:
        assert artifact_store(settings, inbox).read(digest) == person.SCREEN


def warnings_of_put_aside(settings: Settings, inbox: Inbox) -> list[str]:
    """What `prazo doctor` says of artifacts that a run put aside: it also says that the ledger,
    which nobody opens here, still holds what was erased."""
    folder = str(forgetting.put_aside(settings))
    found = erasures(settings, lambda: inbox)
    return [it.found for it in found if it.verdict == "warning" and folder in it.found]


def test_what_another_seller_gives_meanwhile_is_put_back_though_the_run_is_killed(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the process that had removed them knew these bytes: killed, or stopped by Ctrl-C while
    it waited, it left an acknowledged collection without its artifact, for good."""
    digest = _sha256(person.SCREEN)

    def meanwhile(_: float) -> None:
        with closing(open_inbox(settings.inbox)) as inbox:
            inbox.append([person.named_by_other(digest)])
        os.kill(os.getpid(), signal.SIGKILL)

    with monkeypatch.context() as patched:
        patched.setattr(forgetting.time, "sleep", meanwhile)
        killed(lambda: done(settings) and None)
    with closing(open_inbox(settings.inbox)) as inbox:
        assert artifact_store(settings, inbox).read(digest) is None
        assert len(warnings_of_put_aside(settings, inbox)) == 1
    erased = done(settings)
    assert (erased.artifacts, erased.shared_artifacts) == (0, 2)
    with closing(open_inbox(settings.inbox)) as inbox:
        assert artifact_store(settings, inbox).read(digest) == person.SCREEN
        assert warnings_of_put_aside(settings, inbox) == []


def test_what_a_run_puts_aside_until_it_is_killed_is_put_back_by_one_that_begins_just_then(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lay there was looked at before this run had the lock, and the rest was deleted."""
    kept, locked = b"of somebody else", forgetting.locked

    def as_the_other_is_killed(*given: Any) -> Any:
        FolderArtifacts(forgetting.put_aside(settings)).keep(kept)
        with closing(open_inbox(settings.inbox)) as inbox:
            inbox.append([person.named_by_other(_sha256(kept))])
        return locked(*given)

    monkeypatch.setattr(forgetting, "locked", as_the_other_is_killed)
    done(settings)
    with closing(open_inbox(settings.inbox)) as inbox:
        assert artifact_store(settings, inbox).read(_sha256(kept)) == kept


def test_without_room_to_put_artifacts_aside_none_is_removed(
    tmp_path: Path, small_disk: Path
) -> None:
    settings = stores(tmp_path).model_copy(update={"ledger": small_disk / "ledger.duckdb"})
    (small_disk / "ballast").write_bytes(bytes(shutil.disk_usage(small_disk).free))
    digest = _sha256(person.SCREEN)
    with closing(open_inbox(settings.inbox)) as inbox:
        with pytest.raises(NoRoom, match="Not all of it was erased: there is no room left in"):
            forget(settings, inbox, person.SELLER, **SAID)
        assert artifact_store(settings, inbox).read(digest) == person.SCREEN
        (small_disk / "ballast").unlink()
        assert forget(settings, inbox, person.SELLER, **SAID).artifacts == 1
        assert artifact_store(settings, inbox).read(digest) is None
    assert [*small_disk.iterdir()] == []


def test_what_its_page_records_until_its_links_end_goes_as_well(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: an entry that came while the others were erased stayed, and nobody was told."""
    honest = forgetting._forget_links

    def late(inbox: Inbox, seller_id: str) -> None:
        said = {
            **{"kind": "collection", "occurred_at": "2026-03-08T10:00:00Z"},
            **{"process_id": person.PROCESS, "seller_id": seller_id, "journey_id": "j1"},
            **{"step": "answered", "channel": "web_form", "source": "seller"},
            "actor": "Mariana",
        }
        person.add_lines(inbox, said, recorded_by="journey")
        honest(inbox, seller_id)

    monkeypatch.setattr(forgetting, "_forget_links", late)
    erased = done(settings)
    assert erased.entries == sum(person.ERASED.values()) + 1
    with closing(open_inbox(settings.inbox)) as inbox:
        assert [it for it in person.WORDS if it.encode() in bodies(inbox)] == []
