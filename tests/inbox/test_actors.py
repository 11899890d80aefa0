"""People in the log: under pseudonyms, with the map to their names beside it, on both engines."""

import json
import threading
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.errors import InboxUnavailable
from pipeline.inbox import Inbox, Outcome, open_inbox
from pipeline.inbox.actors import named
from pipeline.inbox.store import Statement
from pipeline.log.actions import action
from pipeline.log.actors import Actor, is_pseudonym
from pipeline.log.commitments import uncommitted
from pipeline.log.entries import Draft, Entry, draft_again
from pipeline.log.ndjson import read_line

_INSERT = "insert into actors (pseudonym, name, salt) values ($1, $2, $3)"
_NOT_HER = Actor("act_" + "0" * 64, b"Ana", b"s" * 32)


def by(name: str, **more: str) -> Draft:
    return action("note", reason="a try", actor=name, recorded_by="test", **more)


def recorded(inbox: Inbox, *drafts: Draft) -> list[Entry]:
    return [it.entry for it in inbox.append(drafts) if it.entry is not None]


def actor_of(entry: Entry) -> str:
    actor: str = json.loads(entry.body or b"")["actor"]
    return actor


def everybody(inbox: Inbox) -> list[Actor]:
    return [*map(Actor._make, inbox.query("select pseudonym, name, salt from actors"))]


def names_in(inbox: Inbox) -> list[str | None]:
    return [it.name for it in inbox.read(0, 1000)]


def unnamed(inbox: Inbox) -> list[int]:
    """The entries of which a verification says that the name is missing or another one."""
    read = {it.seq: uncommitted(it, inbox.identity) for it in inbox.read(0, 1000)}
    assert {it for wrong in read.values() for it in wrong} <= {"person"}
    return [seq for seq, wrong in read.items() if wrong]


def take_out(inbox: Inbox, pseudonym: str) -> None:
    inbox.execute("delete from actors where pseudonym = $1", pseudonym)


def rename(inbox: Inbox, pseudonym: str, name: str) -> None:
    """As an insider would: a row is never changed, but taken out and put in."""
    [row] = [it for it in everybody(inbox) if it.pseudonym == pseudonym]
    take_out(inbox, pseudonym)
    inbox.execute(_INSERT, pseudonym, name.encode(), row.salt)


def test_an_entry_holds_a_pseudonym_and_the_map_beside_it_the_name(inbox: Inbox):
    [entry] = recorded(inbox, by("Ana Lima"))
    actor = actor_of(entry)
    assert is_pseudonym(actor)
    assert b"Ana" not in (entry.body or b"") + entry.leaf + (entry.record or b"")
    assert entry.name == "Ana Lima"
    assert named(inbox, {"actor": actor, "more": 1}) == {"actor": "Ana Lima", "more": 1}
    assert inbox.read(0, 1) == [entry]


def test_a_name_has_one_pseudonym_in_one_commit_and_in_later_ones(inbox: Inbox):
    first = recorded(inbox, by("Ana"), by("Bia"), by("Ana"))
    later = recorded(inbox, by("Ana"))
    ana, bia, again, later_again = map(actor_of, [*first, *later])
    assert ana == again == later_again != bia
    assert len(everybody(inbox)) == 2


def test_a_name_in_two_logs_has_pseudonyms_that_say_nothing_of_each_other():
    one, other = (Actor.new("Ana", salt.__mul__) for salt in (b"1", b"2"))
    assert one.pseudonym != other.pseudonym
    assert one.is_named("Ana")
    assert other.is_named("Ana")
    assert not one._replace(salt=other.salt).is_proved


@pytest.mark.parametrize(
    "name",
    [
        "Açucena 😀",
        "O'Neil; drop table actors --",
        "a\x00b",
        'quoted "x" \\ ',
        "ana",
        " ana ",
        "日本",
        "n" * 500,
        "$1 %s %b ?",
    ],
)
def test_any_name_comes_back_as_it_was_typed(inbox: Inbox, name: str):
    recorded(inbox, by(name))
    assert names_in(inbox) == [name]


def test_a_name_that_is_a_pseudonym_stays_that_name(inbox: Inbox):
    [ana] = recorded(inbox, by("Ana"))
    [other] = recorded(inbox, by(actor_of(ana)))
    assert actor_of(other) != actor_of(ana)
    assert names_in(inbox) == ["Ana", actor_of(ana)]


def test_what_is_not_recorded_leaves_no_name(inbox: Inbox):
    once = by("Ana")._replace(ingest_key=b"k" * 32)
    recorded(inbox, once)
    repeated = by("Bia")._replace(ingest_key=b"k" * 32)
    [receipt] = inbox.append([repeated])
    assert receipt.outcome is Outcome.DUPLICATE
    unmet = by("Cid", process_id="prc_1")._replace(expected_process_n=7)
    [receipt] = inbox.append([unmet])
    assert receipt.outcome is Outcome.CONFLICT
    [receipt] = inbox.append([by("Dora")], claim=Statement("delete from actors where 1 = 0", ()))
    assert receipt.outcome is Outcome.CONFLICT
    assert [it.text for it in everybody(inbox)] == ["Ana"]


def test_a_commit_that_fails_leaves_neither_the_entry_nor_the_name(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch
):
    def fails(_size: int) -> bytes:
        calls.append(1)
        if len(calls) > 1:  # the first one is the pseudonym's salt
            raise InboxUnavailable("no more")
        return b"s" * 32

    calls: list[int] = []
    with monkeypatch.context() as patched:
        patched.setattr(inbox, "random", fails)
        with pytest.raises(InboxUnavailable):
            inbox.append([by("Ana")])
    assert everybody(inbox) == []
    assert inbox.last() == (0, 0)
    recorded(inbox, by("Ana"))
    assert unnamed(inbox) == []


def test_two_that_record_a_name_at_once_have_one_pseudonym(inbox: Inbox, location: str):
    with closing(open_inbox(location, create=False)) as other:
        found: list[str] = []
        start = threading.Barrier(2)

        def record(of: Inbox) -> None:
            start.wait()
            found.extend(actor_of(recorded(of, by("Ana"))[0]) for _ in range(10))

        threads = [threading.Thread(target=record, args=(it,)) for it in (inbox, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 20
    assert len({*found}) == 1 == len(everybody(inbox))


def test_a_row_is_never_changed(inbox: Inbox):
    recorded(inbox, by("Ana"))
    with pytest.raises(InboxUnavailable):
        inbox.execute("update actors set name = $1", b"Eve")
    assert names_in(inbox) == ["Ana"]


def test_a_renamed_person_is_shown_by_the_pseudonym_and_named(inbox: Inbox):
    ana, _ = map(actor_of, recorded(inbox, by("Ana"), by("Bia")))
    rename(inbox, ana, "Eve")
    assert names_in(inbox) == [None, "Bia"]
    assert named(inbox, {"actor": ana}) == {"actor": ana}
    assert unnamed(inbox) == [1]


def test_two_whose_names_were_swapped_are_both_named(inbox: Inbox):
    ana, bia = map(actor_of, recorded(inbox, by("Ana"), by("Bia")))
    rename(inbox, ana, "Bia")
    rename(inbox, bia, "Ana")
    assert names_in(inbox) == [None, None]
    assert unnamed(inbox) == [1, 2]


def test_a_removed_row_leaves_the_pseudonym_and_the_name_gets_another_one(inbox: Inbox):
    [ana] = map(actor_of, recorded(inbox, by("Ana")))
    take_out(inbox, ana)
    assert names_in(inbox) == [None]
    assert unnamed(inbox) == [1]
    [later] = map(actor_of, recorded(inbox, by("Ana")))
    assert later != ana
    assert names_in(inbox) == [None, "Ana"]


def test_a_pseudonym_has_one_row(inbox: Inbox):
    [ana] = map(actor_of, recorded(inbox, by("Ana")))
    with pytest.raises(InboxUnavailable):
        inbox.execute(_INSERT, ana, b"Eve", b"s" * 32)
    assert names_in(inbox) == ["Ana"]


def test_no_entry_takes_a_pseudonym_that_somebody_made_up(inbox: Inbox):
    inbox.execute(_INSERT, *_NOT_HER)
    [ana] = map(actor_of, recorded(inbox, by("Ana")))
    assert ana != _NOT_HER.pseudonym
    assert names_in(inbox) == ["Ana"]
    assert unnamed(inbox) == []  # no entry holds it


def test_a_body_without_a_person_is_left_as_it_came(inbox: Inbox):
    plain = Draft("note", 1, "system", body=b'{"actor": "system"}')
    [entry] = recorded(inbox, plain)
    assert entry.body == plain.body
    assert (entry.pseudonym, named(inbox, {"actor": "system"})) == (None, {"actor": "system"})
    assert everybody(inbox) == unnamed(inbox) == []


@pytest.mark.parametrize("name", ["Ana", _NOT_HER.pseudonym])
def test_whoever_a_file_names_stands_there_under_a_pseudonym_of_this_log(inbox: Inbox, name: str):
    line = {"kind": "note", "occurred_at": "2026-03-01T00:00:00Z", "actor": name, "reason": "r"}
    again = [read_line(json.dumps(line).encode(), recorded_by="file") for _ in range(2)]
    first, second = (inbox.append([it])[0] for it in again)
    assert second.outcome is Outcome.DUPLICATE
    assert first.entry is not None
    assert (first.entry.name, unnamed(inbox)) == (name, [])
    assert name.encode() not in (first.entry.body or b"")


def test_a_pseudonym_that_came_in_a_body_from_outside_is_nobodys(inbox: Inbox):
    body = b'{"actor":"%s"}' % _NOT_HER.pseudonym.encode()
    recorded(inbox, Draft("webhook", 1, "system", body=body))
    assert unnamed(inbox) == []


@pytest.mark.parametrize("said", [None, 7, [], {"actor": None}, {"actor": ["act_"]}, {}])
def test_what_holds_no_pseudonym_is_not_asked_for(inbox: Inbox, said: object):
    assert named(inbox, said) == said


@pytest.mark.parametrize("column", ["pseudonym", "person", "person_salt"])
def test_an_entry_without_its_person_is_not_as_it_was_recorded(inbox: Inbox, column: str):
    [entry] = recorded(inbox, by("Ana"))
    assert uncommitted(entry, inbox.identity) == []
    assert uncommitted(entry._replace(**{column: None}), inbox.identity) == ["person"]


def test_a_copy_has_the_names_of_all_that_it_holds(inbox: Inbox, tmp_path: Path):
    [entry] = recorded(inbox, by("Ana"))
    path = tmp_path / "copy.db"
    with closing(open_inbox(path, identity=inbox.identity)) as copy:
        copy.copy([entry])
        assert names_in(copy) == ["Ana"]
        assert unnamed(copy) == []
        [later] = recorded(copy, by("Ana"))
        assert actor_of(later) == actor_of(entry)


def test_what_is_recorded_again_elsewhere_has_its_name(inbox: Inbox, tmp_path: Path):
    [entry] = recorded(inbox, by("Ana"))
    with closing(open_inbox(tmp_path / "other.db", identity=inbox.identity)) as other:
        recorded(other, by("Ana"), draft_again(entry, {}))
        assert names_in(other) == ["Ana", "Ana"]
        assert unnamed(other) == []
        assert len(everybody(other)) == 2
