"""Each ledger is made again after an erasure: nothing of the person stays, and nothing is lost."""

import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from pipeline.audit.export import export
from pipeline.audit.request import Scope
from pipeline.continuity import former, recovery, restore
from pipeline.continuity.backup import backup
from pipeline.continuity.reconcile import reconcile
from pipeline.continuity.service import LedgerService
from pipeline.continuity.stores import audit
from pipeline.contract.body import canonical_json
from pipeline.errors import LedgerBehind, LedgerRefused
from pipeline.inbox import open_inbox
from pipeline.inbox.erased import erasing
from pipeline.keys import secret_key
from pipeline.ledger.facts import Keys, facts_of, remains
from pipeline.ledger.store import Ledger
from pipeline.ledger.views.formats import Asked
from pipeline.log import erasures
from pipeline.log.actions import By
from pipeline.log.kinds.unmask import UNMASK
from pipeline.serve import ledger_access
from pipeline.settings import Settings
from tests import depth
from tests.audit import story
from tests.audit.conftest import request
from tests.erasure import person
from tests.erasure.conftest import ON_SQLITE
from tests.erasure.test_forgetting import SAID, done
from tests.erasure.test_what_stays import as_owner, copied, verified, words_of
from tests.support.machine import killed, wait_until
from tests.support.sqlite import opened

pytestmark = ON_SQLITE


def files_of(settings: Settings) -> list[str]:
    """The ledger's file, and whatever was left of it under another name."""
    found = settings.ledger.parent.glob(f"{settings.ledger.name}*")
    return sorted(it.name for it in found if it.suffix not in (".head", ".wal"))


def recorded_late(settings: Settings) -> None:
    """Something comes of the person."""
    with closing(open_inbox(settings.inbox)) as inbox:
        person.add_lines(inbox, person.returned("f1"))


def forgotten_once_more(settings: Settings) -> None:
    """What came of the person since is erased, too."""
    recorded_late(settings)
    done(settings)


def at_the_first_swap(monkeypatch: pytest.MonkeyPatch, do: Callable[[], None]) -> list[Path]:
    """Has something happen while the ledger is made again for the first time. The paths at which
    one was put, as they come."""
    honest, put = recovery.swapped_in, []

    def swapped_in(draft: Path, path: Path, **more: bool) -> Path | None:
        put.append(path)
        if len(put) == 1:
            do()
        return honest(draft, path, **more)

    monkeypatch.setattr(recovery, "swapped_in", swapped_in)
    return put


def test_an_erasure_while_the_ledger_is_made_again_at_a_start(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: `prazo serve` did not start, and the former file stayed, with the person in it."""
    done(settings)
    put = at_the_first_swap(monkeypatch, lambda: forgotten_once_more(settings))
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        assert service.ledger.damage == "it holds what entry 20 erased"
    verified(settings).close()
    assert len(put) == 2
    assert files_of(settings) == ["ledger.duckdb"]
    assert b"Mariana" not in settings.ledger.read_bytes()


@pytest.mark.long
def test_an_erasure_while_what_follows_makes_its_ledger_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = at_the_first_swap(monkeypatch, lambda: forgotten_once_more(settings))
    reopen = Ledger.reopen

    def reopened_slowly(ledger: Ledger) -> None:
        time.sleep(0.5)  # before: so long it said that it was being made, and that it was made
        reopen(ledger)

    monkeypatch.setattr(Ledger, "reopen", reopened_slowly)
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        service.start()
        service.reach(done(settings).seqs[-1])
        wait_until(lambda: service.status().recovered is not None)
        assert service.status().problem is None
        service.reach(20)
        assert (len(put), files_of(settings)) == (1, ["ledger.duckdb"])
    verified(settings).close()
    assert (len(put), files_of(settings)) == (2, ["ledger.duckdb"])


@pytest.mark.parametrize("signs", depth.few([True, False], 2))
def test_what_follows_makes_its_ledger_again_after_the_key_was_replaced_meanwhile(
    signs: bool, settings: Settings, tmp_path: Path
) -> None:
    """It believed the keys that it had found at its start: heads and checkpoints of the next one
    were called forged, all following ended, and nobody was told of a deadline any more."""
    key = settings.signing_key_file if signs else tmp_path / "2nd" / "signing.key"
    ours = settings.model_copy(
        update={"ledger": tmp_path / "2nd" / "ledger.duckdb", "signing_key_file": key}
    )
    with closing(LedgerService(ours)) as service:
        service.catch_up()
        service.start()
        with closing(LedgerService(settings)) as keeper:
            keeper.signing.rotate(actor="ana", reason="yearly", recorded_by="user:ana")
            keeper.catch_up()
            keeper.sign()
        erased = done(settings).seqs[-1]
        wait_until(lambda: service.ledger.erased_to == erased and service.status().problem is None)
        with closing(open_inbox(settings.inbox)) as inbox:
            story.deliver(inbox, "later")
            service.reach(inbox.last()[0])


def test_killed_once_the_new_ledger_is_there_nothing_is_left_of_the_former_one(
    settings: Settings,
) -> None:
    done(settings)

    def start() -> None:
        def die(*_: object) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        recovery.Recovery._note = die  # type: ignore[method-assign]  # in a process of its own
        LedgerService(settings)

    killed(start)
    assert [it for it in files_of(settings) if "set-aside" in it] == []
    verified(settings).close()


def test_a_ledger_that_alone_has_an_entry_as_it_was_recorded_stays(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody changed what another seller answered. Before: the ledger was made of that, and the
    only file that had the truth deleted, no matter who was forgotten."""
    monkeypatch.setattr(former, "ENTRIES_PER_READ", 3)
    with closing(open_inbox(settings.inbox)) as inbox:
        [answered] = inbox.find(seller_id=person.OTHER, kind="collection")
    as_owner(settings, (answered.body or b"").replace(b"up_to_1000", b"up_to_9999"), answered.seq)
    done(settings)
    with pytest.raises(LedgerRefused, match=f"entries {answered.seq} of the inbox were changed"):
        LedgerService(settings)
    insisted = By("nobody signed the erasure yet", "ana", "user:ana")
    assert restore.restore_from_ledger(settings, insisted=insisted).verdict.faults == []
    with closing(verified(settings)) as service:
        assert service.ledger.recorded(answered.seq, answered.seq) == [answered]
    assert words_of(settings) == []
    assert b"Mariana" not in settings.ledger.read_bytes()


@pytest.mark.parametrize(
    ("table", "column", "lie"),
    [
        ("facts.reviews", "status", "EXPIRED"),
        ("facts.reviews", "deadline_at", 0),
        ("facts.reviews", "deadline_at", None),
        ("facts.reviews", "made_up", 1),
        ("", "", ""),
    ],
)
def test_an_erasure_that_keeps_something_else_than_the_bytes_said_is_not_followed(
    table: str, column: str, lie: object, settings: Settings
) -> None:
    """Whoever can write into the inbox names an erasure without any command, and puts other facts
    in the place. The ledger that still had the bytes was deleted, and all of it was verified."""
    with closing(open_inbox(settings.inbox)) as inbox:
        entry = next(it for it in inbox.read(0, 100) if b"PENDING" in (it.body or b""))
        stays = json.loads(remains.of(facts_of(entry, Keys(inbox.log_key, b"key"))))
        if table:
            [said] = [it for of, it in stays["facts"] if of == table]
            assert said.get(column) != lie
            said[column] = lie
            if lie is None:
                del said[column]
        else:
            stays["facts"].pop()
        kept = {entry.seq: canonical_json(stays)}
        draft = erasures.erasure(
            kept,
            **SAID,
            seller_id=entry.seller_id or "",
            process_id=entry.process_id,
            taxpayer_mark=Keys(inbox.log_key, b"key").taxpayer_mark,
        )
        claim, *besides = erasing(kept, draft.ingest_key)
        assert inbox.change(claim, besides, [draft])
    before = settings.ledger.read_bytes()
    with pytest.raises(LedgerRefused, match=rf"the erased entries {entry.seq} is not what their"):
        LedgerService(settings)
    assert settings.ledger.read_bytes() == before


def test_a_ledger_in_which_erased_bytes_were_changed_speaks_against_no_erasure(
    settings: Settings,
) -> None:
    """What stays does not follow from bytes that somebody wrote into the ledger's file alone."""
    done(settings)
    with closing(duckdb.connect(str(settings.ledger))) as ledger:
        ledger.execute("drop trigger log_no_update on log")
        changed = "update log set body = encode(replace(decode(body), 'PENDING', 'EXPIRED'))"
        ledger.execute(f"{changed} where kind = 'webhook' and contains(decode(body), 'PENDING')")
        assert ledger.fetchall() == [(2,)]
    verified(settings).close()
    assert files_of(settings) == ["ledger.duckdb"]


def test_what_follows_goes_on_showing_a_ledger_that_alone_has_an_entry(settings: Settings) -> None:
    with closing(open_inbox(settings.inbox)) as inbox:
        [answered] = inbox.find(seller_id=person.OTHER, kind="collection")
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        as_owner(settings, b"{}", answered.seq)
        done(settings)  # whole, before what follows stops at its first entry
        service.start()
        wait_until(lambda: "were changed" in (service.status().problem or ""))
        assert service.ledger.recorded(answered.seq, answered.seq) == [answered]
        assert [it for it in audit(service).faults if f"entry {answered.seq}:" in it] != []


def test_a_ledger_that_is_made_of_its_own_entries_forgets_as_well(settings: Settings) -> None:
    """It had followed the erasure and more, and was not made again yet when the inbox lost that."""
    erased = done(settings)
    with closing(open_inbox(settings.inbox)) as inbox:
        story.deliver(inbox, "later")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(recovery, "newest_erasure", lambda _: 0)
        with closing(LedgerService(settings)) as service:
            service.catch_up()
    assert b"Mariana" in settings.ledger.read_bytes()
    with closing(opened(settings.inbox)) as connection, connection:
        connection.execute("drop trigger entries_no_delete")
        connection.execute("delete from entries where seq > ?", (erased.seqs[-1],))
        connection.execute("delete from heads")
        connection.execute("delete from checkpoints where size > ?", (erased.seqs[-1],))
    with closing(LedgerService(settings, serves_a_fork=True)) as service:
        held = b"\n".join(it.body or b"" for it in service.ledger.select("true", []))
    assert [word for word in person.WORDS if word.encode() in held] == []


def followed_alone(settings: Settings) -> None:
    """The ledger has the erasure, and was not made again yet."""
    done(settings)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(recovery, "newest_erasure", lambda _: 0)
        with closing(LedgerService(settings)) as service:
            service.catch_up()
            service.sign()


def test_a_ledger_that_gives_an_inbox_its_erasures_back_is_made_again(
    settings: Settings, tmp_path: Path
) -> None:
    """At its start the inbox knew of none, an older copy, and so nothing spoke against the file.
    Before: the person was in the inbox again."""
    older = copied(settings, tmp_path)
    followed_alone(settings)
    shutil.copy(older, settings.inbox)
    with closing(LedgerService(settings)) as service:
        assert "gave them back" in (service.status().recovered or "")
        assert service.ledger.damage == "it holds what entry 18 erased"
    assert words_of(settings) == []


@pytest.mark.long
def test_an_inbox_gets_back_what_stays_also_where_tax_ids_compare_under_another_key(
    settings: Settings, tmp_path: Path
) -> None:
    """What stays under that key is not what the erasure fixed: only what the ledger has is."""
    older = copied(settings, tmp_path)
    recorded_late(settings)
    done(settings)
    verified(settings).close()
    shutil.copy(older, settings.inbox)
    other = tmp_path / "other.key"
    secret_key(other)
    with closing(
        LedgerService(settings.model_copy(update={"taxpayer_key_file": other}))
    ) as service:
        assert "gave them back" in (service.status().recovered or "")
    assert words_of(settings) == []


@pytest.mark.long
def test_what_a_ledger_that_was_not_made_again_gives_a_reconciled_inbox_stays_erased(
    settings: Settings, tmp_path: Path
) -> None:
    """The erasure names no seq behind the fork any more. Before: what came of the person there was
    recorded with its bytes once more, and nothing said that they had been erased."""
    older = copied(settings, tmp_path)
    recorded_late(settings)
    with closing(LedgerService(settings)) as service:
        service.catch_up()
    followed_alone(settings)
    shutil.copy(older, settings.inbox)
    with closing(open_inbox(settings.inbox)) as inbox:
        story.deliver(inbox, "other")
    fork = reconcile(settings, **SAID).fork
    assert fork is not None
    assert (fork.at, fork.in_ledger) == (16, 3)
    assert words_of(settings) == []
    with closing(verified(settings)) as service:
        [late] = service.ledger.select("event_id = 'f1'", [])
    assert (late.is_erased, late.particulars["was_seq"]) == (True, 17)
    assert files_of(settings) == ["ledger.duckdb"]
    assert b"Mariana" not in settings.ledger.read_bytes()


@pytest.mark.parametrize("source", depth.few(["backup", "ledger"], 2))
def test_a_restore_erases_what_a_ledger_that_was_not_made_again_still_has(
    source: str, settings: Settings, tmp_path: Path
) -> None:
    """Before: the person was in the restored inbox."""
    backup(settings, tmp_path / "saved")
    followed_alone(settings)
    if source == "backup":
        restored = restore.restore(settings, tmp_path / "saved")
    else:
        with closing(opened(settings.inbox)) as connection, connection:
            connection.execute("drop trigger entries_no_delete")
            connection.execute("delete from entries where salt is null")  # and what stays of them
        restored = restore.restore_from_ledger(settings)
    assert (restored.verdict.faults, words_of(settings)) == ([], [])


def test_until_the_ledger_is_made_again_nobody_is_shown_or_given_the_person(
    settings: Settings, tmp_path: Path
) -> None:
    """For up to ten minutes a package still held all of it, and was called NOT VERIFIED."""
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        done(settings)
        service.catch_up()
        asked = Asked("seller_state", unmask=By("a call", "ana", "cli:ana"))
        for shown in (
            lambda: ledger_access.OwnLedger(service).shown(asked),
            lambda: export(service, request(Scope(seller_id=person.SELLER)), tmp_path / "s.zip"),
        ):
            with pytest.raises(LedgerBehind, match="somebody was forgotten"):
                shown()
    with closing(open_inbox(settings.inbox)) as inbox:
        assert [it for it in inbox.read(0, 100) if it.kind in (UNMASK, "export")] == []
    with closing(LedgerService(settings)) as service:
        assert export(service, request(Scope(seller_id=person.SELLER)), tmp_path / "s.zip")
