"""Bytes that were erased and are there again: who notices, and what erases them once more."""

import shutil
from collections.abc import Iterable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from pipeline.clearance import acts, clearances
from pipeline.continuity.service import LedgerService
from pipeline.continuity.stores import audit
from pipeline.erasure import forgetting
from pipeline.erasure.forgetting import forget
from pipeline.errors import CallerError
from pipeline.inbox import Inbox, erased, open_inbox
from pipeline.inbox.erased import erase_again, erased_entries, unerased
from pipeline.inbox.sqlite import file
from pipeline.log import erasures
from pipeline.log.actions import By
from pipeline.log.entries import Entry
from pipeline.settings import Settings
from tests.erasure import person
from tests.erasure.conftest import ON_SQLITE
from tests.erasure.test_forgetting import SAID, done
from tests.erasure.test_what_stays import copied, verified, words_of
from tests.support.sqlite import opened

pytestmark = ON_SQLITE


def put_back(settings: Settings, entries: Iterable[Entry]) -> None:
    """What came of these is in the inbox again."""
    with closing(opened(settings.inbox)) as connection, connection:
        name = "entries_no_update"
        [(sql,)] = connection.execute("select sql from sqlite_master where name = ?", (name,))
        connection.execute(f"drop trigger {name}")
        for entry in entries:
            change = "update entries set body = ?, salt = ?, is_compressed = 0, leaf = ?"
            came = (entry.body, entry.salt, entry.leaf, entry.seq)
            connection.execute(f"{change} where seq = ?", came)
        connection.execute(sql)


@pytest.fixture
def before(settings: Settings) -> list[Entry]:
    """The entries as they came, of somebody who was forgotten since."""
    with closing(open_inbox(settings.inbox)) as inbox:
        entries = inbox.read(0, 100)
    done(settings)
    return [*entries]


def test_many_are_erased_again_some_at_a_time_and_none_that_is_gone(
    settings: Settings, before: list[Entry], inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = [*erased_entries(inbox)]
    back = [before[it.seq - 1] for it in gone[1:]]
    put_back(settings, back)
    assert unerased(inbox) == (True, back)
    monkeypatch.setattr(erasures, "MOST_ENTRIES", 3)
    assert erase_again(inbox, gone) == len(back) == 11
    assert [*erased_entries(inbox)] == gone


def test_nothing_is_erased_but_for_what_the_erasure_says_stays(
    settings: Settings, before: list[Entry], inbox: Inbox
) -> None:
    """Whatever a ledger says: its file may have been changed."""
    first, *_ = erased_entries(inbox)
    put_back(settings, [before[first.seq - 1]])
    others = [
        first._replace(body=(first.body or b"").replace(b"e1", b"e2")),
        before[0]._replace(seq=3, salt=None),  # another seller's
    ]
    assert others[0].body != first.body
    assert erase_again(inbox, others) == 0
    assert inbox.entry(first.seq) == before[first.seq - 1]


def test_an_erased_entry_that_is_missing_keeps_nobody_from_looking(
    settings: Settings, before: list[Entry], inbox: Inbox
) -> None:
    last = [*erased_entries(inbox)][-1]
    with closing(opened(settings.inbox)) as connection, connection:
        connection.execute("drop trigger entries_no_delete")
        connection.execute("delete from entries where seq = ?", (last.seq,))
    assert unerased(inbox) == (True, [])


def test_it_is_said_of_each_entry_that_it_was_erased_and_how_to_do_it_again(
    settings: Settings, before: list[Entry]
) -> None:
    verified(settings).close()
    put_back(settings, before[:1])
    with closing(LedgerService(settings)) as service:
        faults = audit(service).faults
    assert (
        "entry 1: it was erased, and what came is there again; `prazo forget` of its seller erases"
        " that"
    ) in faults


def test_an_inbox_that_was_put_back_and_is_given_its_end_back_forgets_again(
    settings: Settings, tmp_path: Path
) -> None:
    """Nothing was recorded in it since, so a start is enough, and nobody is asked."""
    older = copied(settings, tmp_path)
    done(settings)
    with closing(verified(settings)) as service:
        service.sign()
    shutil.copy(older, settings.inbox)
    assert words_of(settings) == [*person.WORDS]
    verified(settings).close()
    assert words_of(settings) == []


def test_of_two_runs_that_one_word_allows_the_second_erases_nothing(
    settings: Settings, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an entry that says so, nothing would fix what stays."""
    of_two = settings.model_copy(update={"four_eyes": "forget"})
    with pytest.raises(clearances.Awaited) as waits:
        forget(of_two, inbox, person.SELLER, **SAID)
    asked = (inbox, acts.Terms.of(of_two), waits.value.request_id, "approved")
    clearances.decide(*asked, By("I saw it", "bia", "user:bia"), is_proved=False)
    honest = forgetting._forget_links

    def meanwhile(*given: object) -> None:
        monkeypatch.setattr(forgetting, "_forget_links", honest)
        assert forget(of_two, inbox, person.SELLER, **SAID).kinds == person.ERASED
        person.add_lines(inbox, person.returned("f1"))

    monkeypatch.setattr(forgetting, "_forget_links", meanwhile)
    with pytest.raises(CallerError, match="another run is erasing the same"):
        forget(of_two, inbox, person.SELLER, **SAID)
    [kept] = [it for it in inbox.find(seller_id=person.SELLER) if it.event_id == "f1"]
    assert b"Mariana" in (kept.received or b"")


def test_who_reads_the_file_holds_its_cut_up_and_that_is_said(
    settings: Settings, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erased, "SECONDS_TO_CUT", 0.0)
    with closing(opened(settings.inbox)) as reader:
        monkeypatch.setattr(file, "connect", partial(file.connect, busy_seconds=0))
        reader.execute("begin")
        reader.execute("select count(*) from entries").fetchall()
        assert not forget(settings, inbox, person.SELLER, **SAID).is_cut
    assert forget(settings, inbox, person.SELLER, **SAID).is_cut
