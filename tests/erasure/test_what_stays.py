"""What stays of erased bytes, in every store and every copy: nobody changes it unseen, nothing that
is put back brings a person back, and packages prove what there is."""

import hashlib
import json
import os
import shutil
import signal
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import psycopg
import pytest

from pipeline.audit import export
from pipeline.audit.reproduce import verify_package
from pipeline.audit.request import Profile, Scope
from pipeline.continuity import backup as audit_backup
from pipeline.continuity import restore
from pipeline.continuity.backup import backup
from pipeline.continuity.reconcile import reconcile
from pipeline.continuity.service import LedgerService
from pipeline.continuity.stores import audit
from pipeline.contract.body import canonical_json
from pipeline.errors import (
    CallerError,
    InboxChanged,
    LedgerBehind,
    NotRestored,
)
from pipeline.inbox import Inbox, open_inbox
from pipeline.ledger.facts import Keys, facts_of, remains
from pipeline.log.actions import By
from pipeline.log.kinds.quarantine import QUARANTINE
from pipeline.log.ndjson import read_line
from pipeline.settings import Settings
from pipeline.verify import verify
from tests import depth
from tests.audit import story
from tests.audit.conftest import request
from tests.erasure import person
from tests.erasure.conftest import ON_SQLITE
from tests.erasure.test_forgetting import bodies, done
from tests.support.machine import killed, wait_until
from tests.support.sqlite import copy, opened
from tests.support.stores import settings_in

FIRST = 1
"""The entry of the first event about the person."""


def words_in(inbox: Inbox) -> list[str]:
    return [it for it in person.WORDS if it.encode() in bodies(inbox)]


def words_of(settings: Settings) -> list[str]:
    with closing(open_inbox(settings.inbox)) as inbox:
        return words_in(inbox)


def copied(settings: Settings, folder: Path) -> Path:
    """A copy of the inbox as it is now, to be put back later."""
    older = folder / "older.db"
    copy(settings.inbox, older)
    return older


def verified(settings: Settings) -> LedgerService:
    """The stores, which must have no fault; to be closed."""
    service = LedgerService(settings)
    service.catch_up()
    assert audit(service).faults == []
    return service


# --- an insider ----------------------------------------------------------------------------------


def as_owner(settings: Settings, value: bytes, seq: int, column: str = "body") -> None:
    """Somebody who owns the tables changes what stays of an entry, or says of one."""
    if "postgres" in settings.inbox:
        with psycopg.connect(settings.inbox, autocommit=True) as connection:
            connection.execute("alter table prazo.entries disable trigger all")
            change = f"update prazo.entries set {column} = %s where seq = %s"
            connection.execute(change, (value, seq))
            connection.execute("alter table prazo.entries enable always trigger all")
        return
    with closing(opened(settings.inbox)) as connection, connection:
        held = "select name, sql from sqlite_master where type = 'trigger' and tbl_name = 'entries'"
        triggers = connection.execute(held).fetchall()
        for name, _ in triggers:
            connection.execute(f"drop trigger {name}")
        connection.execute(f"update entries set {column} = ? where seq = ?", (value, seq))
        for _, sql in triggers:
            connection.execute(sql)


@ON_SQLITE
def test_what_stays_is_fixed_by_the_erasure(settings: Settings, tmp_path: Path) -> None:
    """A deadline that is put off in what stays of a review would make a state wrong."""
    done(settings)
    verified(settings).close()
    with closing(open_inbox(settings.inbox)) as inbox:
        [review] = [it for it in inbox.find(process_id=person.PROCESS) if it.event_id == "e5"]
    changed = (review.body or b"").replace(b"FINISHED", b"PENDING")
    assert changed != review.body
    as_owner(settings, changed, review.seq)
    with closing(LedgerService(settings)) as service:
        [fault] = [it for it in audit(service).faults if f"entry {review.seq}:" in it]
        assert "the inbox is wrong" in fault
    with pytest.raises(InboxChanged, match=f"entries {review.seq} "):
        backup(settings, tmp_path / "saved")


@ON_SQLITE
def test_bytes_that_no_erasure_names_are_missed(settings: Settings, tmp_path: Path) -> None:
    """Anyone who deletes a body, as an erasure does, and says nothing."""
    with closing(open_inbox(settings.inbox)) as inbox:
        sql = "update entries set body = $1, salt = null where seq = $2"
        inbox.execute(sql, b'{"facts":[],"form":1}', FIRST)
    with closing(LedgerService(settings)) as service:
        assert any(f"entry {FIRST}:" in it for it in audit(service).faults)
    with pytest.raises(InboxChanged, match=f"entries {FIRST} "):
        backup(settings, tmp_path / "saved")


def hidden(inbox: Inbox) -> None:
    """The review's status in the place of its bytes, by an erasure below the first entry."""
    [review, *_] = [it for it in inbox.find(process_id=person.PROCESS) if it.event_id == "e5"]
    stays = remains.of(facts_of(review, Keys(values=b"any", taxpayer=b"any")))
    changed = stays.replace(b'"FINISHED"', b'"PENDING"')
    assert changed != stays
    erase = "update entries set body = $1, salt = null where seq = $2"
    inbox.execute(erase, changed, review.seq)
    named = {"erased": [f"{review.seq}:{hashlib.sha256(changed).hexdigest()}"], "salt": "00" * 32}
    columns = "seq, kind, occurred_at, recorded_at, origin, recorded_by, is_again, record, leaf"
    made_up = f"insert into entries ({columns}) values (0, 'erasure', 0, 0, 'live', 'x', false"
    inbox.execute(f"{made_up}, $1, $2)", canonical_json(named), b"{}")


def test_an_erasure_that_stands_in_no_tree_erases_nothing(
    settings: Settings, tmp_path: Path
) -> None:
    """Nobody had signed it and nobody followed it, and it fixed whatever stayed: a ledger was built
    of that, and the stores were verified. A backup took it, and was put back."""
    backup(settings, tmp_path / "saved")
    with closing(open_inbox(str(tmp_path / "saved" / "inbox.db"))) as saved:
        hidden(saved)
    with closing(open_inbox(settings.inbox)) as inbox:
        hidden(inbox)
    settings.ledger.unlink()
    with closing(LedgerService(settings)) as service:
        faults = [it.partition(";")[0] for it in audit(service).faults]
    assert "entry 14: its leaf commits to another body_commitment, body_size, in both stores" in (
        faults
    )
    assert "the inbox has 17 rows of entries, and the newest is 16" in faults
    with pytest.raises(InboxChanged, match="entries 14 "):
        backup(settings, tmp_path / "again")
    with pytest.raises(NotRestored, match="its entries 14 are not as they were recorded"):
        restore.restore(settings_in(tmp_path / "elsewhere"), tmp_path / "saved")


@pytest.mark.parametrize("body", depth.few([b'{"fields":{"revenue":"9000_to_9999"}}', b"x"], 2))
@ON_SQLITE
def test_what_was_changed_is_not_erased(body: bytes, settings: Settings) -> None:
    """What stays of it would be fixed like the truth, and the ledger that knows it be made again:
    `prazo verify` then found no fault."""
    with closing(open_inbox(settings.inbox)) as inbox:
        [answered] = inbox.find(process_id=person.PROCESS, kind="collection")
    as_owner(settings, body, answered.seq)
    with pytest.raises(CallerError, match=f"entries {answered.seq} of the seller are not as"):
        done(settings)
    assert restore.restore_from_ledger(settings).verdict.faults == []
    done(settings)
    verified(settings).close()


@ON_SQLITE
def test_what_stays_and_was_changed_is_not_a_ground_for_another_erasure(settings: Settings) -> None:
    """A row that somebody erased by hand, with anything in its place."""
    with closing(open_inbox(settings.inbox)) as inbox:
        sql = "update entries set body = $1, salt = null where seq = $2"
        inbox.execute(sql, b"no JSON", FIRST)
    with pytest.raises(CallerError, match=f"entries {FIRST} of the seller are not as"):
        done(settings)


@pytest.mark.parametrize(
    "record",
    depth.few([b"x", b"[1]", b'{"erased":["1:%s"]}' % (b"z" * 64), b'{"erased":7}'], 4),
)
@ON_SQLITE
def test_an_erasure_that_somebody_changed_is_named(
    record: bytes, settings: Settings, tmp_path: Path
) -> None:
    """What it named was read without a look, and verifying ended with a traceback."""
    seq = done(settings).seqs[0]
    verified(settings).close()
    as_owner(settings, record, seq, column="record")
    with closing(LedgerService(settings)) as service:
        faults = audit(service).faults
    assert any(it.startswith(f"entry {seq}: ") and "the inbox is wrong" in it for it in faults)
    with pytest.raises(InboxChanged, match="not as they were recorded"):
        backup(settings, tmp_path / "saved")


# --- copies --------------------------------------------------------------------------------------


def test_a_backup_is_brought_up_to_date_with_an_erasure(settings: Settings, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    backup(settings, saved, with_keys=True)
    done(settings)
    with closing(verified(settings)) as service:
        service.sign()
    backup(settings, saved, with_keys=True)
    assert words_of(settings_in(tmp_path, inbox=str(saved / "inbox.db"))) == []
    digest = hashlib.sha256(person.SHARED).hexdigest()
    assert [it.name for it in (saved / "artifacts").rglob("*") if it.is_file()] == [digest]
    elsewhere = settings_in(tmp_path / "elsewhere")
    assert restore.restore(elsewhere, saved).verdict.faults == []
    assert words_of(elsewhere) == []


@pytest.mark.parametrize("step", depth.few(["erased_in", "copy_entries"], 2))
@ON_SQLITE
def test_a_backup_during_which_somebody_is_forgotten_can_be_restored(
    step: str, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It held what stays of entries, without the erasure, which was newer: no restore took that. Or
    it said of these entries that somebody had changed them."""
    from pipeline.continuity import backup as module

    honest, forgotten = getattr(module, step), []

    def meanwhile(*given: Any, **more: Any) -> Any:
        found = honest(*given, **more) if step == "erased_in" else None
        if not forgotten:
            forgotten.append(done(settings))
        return honest(*given, **more) if found is None else found

    monkeypatch.setattr(module, step, meanwhile)
    made = backup(settings, tmp_path / "saved", with_keys=True)
    assert forgotten
    with closing(open_inbox(settings.inbox)) as inbox:
        assert (made.entries, made.new_entries) == (inbox.last()[0], inbox.last()[0])
    elsewhere = settings_in(tmp_path / "elsewhere")
    insisted = By("nobody signed the erasure yet", "ana", "user:ana")
    restored = restore.restore(elsewhere, tmp_path / "saved", insisted=insisted)
    assert restored.verdict.faults == []
    assert words_of(elsewhere) == []


@ON_SQLITE
def test_an_older_backup_brings_nothing_back_where_the_ledger_knows_better(
    settings: Settings, tmp_path: Path
) -> None:
    """Before: artifacts that its entries had named lay in the store again, and nobody was told."""
    backup(settings, tmp_path / "saved")
    done(settings)
    with closing(verified(settings)) as service:
        service.sign()
    shutil.rmtree(settings.artifacts)
    restored = restore.restore(settings, tmp_path / "saved")
    assert (restored.verdict.faults, restored.artifacts, words_of(settings)) == ([], 1, [])
    digest = hashlib.sha256(person.SHARED).hexdigest()
    assert [it.name for it in settings.artifacts.rglob("*") if it.is_file()] == [digest]


@pytest.mark.long
@ON_SQLITE
def test_a_backup_that_was_cut_off_before_it_erased_brings_nothing_back(
    settings: Settings, tmp_path: Path
) -> None:
    """It has all entries, and so nothing newer came from the ledger. Before: nor the erasure."""

    def die() -> None:
        audit_backup.erase_again = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]
        backup(settings, tmp_path / "saved")

    backup(settings, tmp_path / "saved")
    done(settings)
    with closing(verified(settings)) as service:
        service.sign()
    killed(die)
    assert words_of(settings_in(tmp_path, inbox=str(tmp_path / "saved" / "inbox.db"))) != []
    insisted = By("it was cut off", "ana", "user:ana")
    restored = restore.restore(settings, tmp_path / "saved", insisted=insisted)
    assert restored.verdict.faults == []
    assert words_of(settings) == []


@pytest.mark.long
@ON_SQLITE
def test_a_ledger_that_has_not_followed_an_erasure_brings_nothing_back(settings: Settings) -> None:
    done(settings)
    with closing(opened(settings.inbox)) as connection, connection:
        connection.execute("drop trigger entries_no_update")
        connection.execute("update entries set status = 500 where kind = 'ticket'")
    insisted = By("nobody signed the erasure yet", "ana", "user:ana")
    assert restore.restore_from_ledger(settings, insisted=insisted).verdict.faults == []
    assert words_of(settings) == []


@pytest.mark.long
@ON_SQLITE
def test_an_inbox_that_was_put_back_and_went_on_forgets_again(
    settings: Settings, tmp_path: Path
) -> None:
    """It lost the erasure, and what came before that; the ledger has both."""
    older = copied(settings, tmp_path)
    with closing(open_inbox(settings.inbox)) as inbox:
        story.deliver_bytes(
            inbox,
            b'{"id":"late","type":"seller.updated","payload":{"object":'
            b'{"id":"sel_1","first_name":"Mariana"}}}',
        )
    done(settings)
    with closing(verified(settings)) as service:
        service.sign()
    shutil.copy(older, settings.inbox)
    with closing(open_inbox(settings.inbox)) as inbox:
        assert words_in(inbox) == [*person.WORDS]
        story.deliver_bytes(
            inbox, b'{"id":"other","type":"seller.updated","payload":{"object":{"id":"sel_10"}}}'
        )
    reconcile(settings, reason="an older copy", actor="ana", recorded_by="user:ana")
    with closing(verified(settings)) as service:
        said = service.reader.read("log_entries", where={"event_id": "late"}).to_pylist()
        assert [it["body"] for it in said] == ["erased"]  # what stays was recorded again, salted
    assert words_of(settings) == []
    with closing(open_inbox(settings.inbox)) as inbox:
        [late] = [it for it in inbox.find(seller_id=person.SELLER) if it.event_id == "late"]
        assert late.is_erased


# --- ledgers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("without_bodies", [False, True])
@ON_SQLITE
def test_a_ledger_that_follows_is_made_again_and_its_former_file_is_gone(
    without_bodies: bool, settings: Settings, tmp_path: Path
) -> None:
    own = settings.model_copy(update={"ledger": tmp_path / "own" / "ledger.duckdb"})
    options = {"is_keeper": False, "without_bodies": without_bodies}
    service = LedgerService(own, **options)
    service.catch_up()
    service.start()
    try:
        erased = done(settings)
        wait_until(lambda: "erased" in (service.status().recovered or ""))
        service.reach(erased.seqs[-1])
        row = service.reader.read("seller_state", where={"seller_id": person.SELLER}, unmask=True)
        assert row.to_pylist()[0]["first_name"] is None
    finally:
        service.close()
    assert [it.name for it in own.ledger.parent.glob("*set-aside*")] == []


@ON_SQLITE
def test_stores_are_not_called_wrong_before_the_ledger_is_made_again(settings: Settings) -> None:
    """The ledger still has what the inbox has no more. That was a fault of one of them, and whoever
    believed it put the person back."""
    with closing(LedgerService(settings)) as service:
        done(settings)
        with pytest.raises(LedgerBehind, match="it is made again from the inbox"):
            audit(service)


@ON_SQLITE
def test_stores_are_not_called_wrong_where_somebody_is_forgotten_meanwhile(
    settings: Settings,
) -> None:
    with closing(LedgerService(settings)) as service:
        began = []

        def forgets(*_: int) -> None:
            if not began:
                began.append(done(settings))

        with pytest.raises(LedgerBehind, match="or was meanwhile"):
            audit(service, on_progress=forgets)


def unpacked(package: Path) -> str:
    with ZipFile(package) as opened:
        return "".join(opened.read(it).decode("utf-8", "replace") for it in opened.namelist())


# --- packages ------------------------------------------------------------------------------------


OF_A_SELLER, OF_A_PROCESS = Scope(seller_id=person.SELLER), Scope(process_id=person.PROCESS)
OF_A_PERIOD = Scope(since=0, until=1_790_000_000_000_000)
OF_A_SELLERS_PERIOD = replace(OF_A_SELLER, since=0, until=1_790_000_000_000_000)


@pytest.mark.parametrize(
    ("scope", "profile"),
    depth.few(
        [
            (OF_A_SELLER, "full"),
            (OF_A_SELLERS_PERIOD, "full"),
            (OF_A_SELLERS_PERIOD, "masked"),
            (OF_A_SELLER, "masked"),
            (OF_A_PROCESS, "masked"),
            (OF_A_PROCESS, "full"),
            (OF_A_PERIOD, "masked"),
            (OF_A_PERIOD, "full"),
        ],
        4,
    ),
)
@ON_SQLITE
def test_a_package_says_what_was_erased_and_verifies(
    scope: Scope, profile: Profile, settings: Settings, tmp_path: Path
) -> None:
    done(settings)
    with closing(verified(settings)) as service:
        made = export.export(service, request(scope, profile), tmp_path / "p.zip")
        verdict = verify(made.path, made.key)
    assert verdict.faults == []
    assert verify_package(made.path, key=made.key).faults == []
    assert any("bodies that are withheld (erased)" in it for it in verdict.unchecked)
    assert [it for it in person.WORDS if it in unpacked(made.path)] == []


@pytest.mark.long
@pytest.mark.parametrize("profile", depth.few(["full", "masked"], 2))
@ON_SQLITE
def test_a_package_of_what_was_erased_and_recorded_again_verifies(
    profile: Profile, settings: Settings, tmp_path: Path
) -> None:
    """What stays of a payload or a delivery says how large that was, and is shorter or longer
    itself. `prazo verify` called it another size than the log's, and the package NOT VERIFIED. A
    masked one withholds the record of an end in words, which alone says that its bytes are gone."""
    older = copied(settings, tmp_path)
    late = [
        {**line, "attempt_id": "late", "error": "for Olinda"} if "attempt_id" in line else line
        for line in person.history()
        if line["kind"].startswith("submission") or line.get("body") == person.BROKEN
    ]
    with closing(open_inbox(settings.inbox)) as inbox:
        read = [read_line(json.dumps(it).encode(), recorded_by="late") for it in late]
        assert [it.kind for it in read] == ["submission_started", "submission_finished", QUARANTINE]
        inbox.append(read)
    done(settings)
    with closing(verified(settings)) as service:
        service.sign()
    shutil.copy(older, settings.inbox)
    with closing(open_inbox(settings.inbox)) as inbox:
        story.deliver(inbox, "other")
    reconcile(settings, reason="an older copy", actor="ana", recorded_by="user:ana")
    scope = Scope(since=0, until=1_790_000_000_000_000)
    with closing(verified(settings)) as service:
        made = export.export(service, request(scope, profile), tmp_path / "p.zip")
    verdict = verify(made.path, made.key)
    assert (verdict.faults, verify_package(made.path, key=made.key).faults) == ([], [])
    may_be = "whether 1 body was erased: no erasure here names them, and their own records"
    assert any(it.startswith(may_be) for it in verdict.unchecked) == (profile == "masked")
    assert ("Olinda" in unpacked(made.path)) == (profile == "full")


@pytest.mark.parametrize(
    "scope",
    depth.few(
        [
            Scope(since=0, until=1_790_000_000_000_000),
            Scope(process_id=person.PROCESS),
            Scope(seller_id=person.SELLER, since=0, until=1_790_000_000_000_000),
        ],
        3,
    ),
)
@ON_SQLITE
def test_a_body_that_is_withheld_as_erased_and_was_not_is_a_fault(
    scope: Scope, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rogue exporter would leave out whatever speaks against the marketplace. Of a period it was
    named as not checked, though all leaves behind the body's were there, and none of an erasure."""
    from pipeline.audit.package import disclosure
    from pipeline.verify import BY_EXPORTER, ERASED

    monkeypatch.setattr(disclosure, "BY_EXPORTER", ERASED)
    with closing(verified(settings)) as service:
        [start] = service.ledger.seqs("kind = 'submission_started'", [])
        asked = request(scope, withhold=frozenset({start}))
        made = export.export(service, asked, tmp_path / "p.zip")
    assert BY_EXPORTER != ERASED
    assert verify(made.path, made.key).faults == [
        f"entry {start}: its body is withheld as erased, and no erasure names it"
    ]
