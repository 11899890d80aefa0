"""What needs a second person begins once, for anyone who asked, and only as it was asked for."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline import instants
from pipeline.clearance import acts, clearances
from pipeline.clearance.acts import Asked, Terms
from pipeline.clearance.clearances import Awaited, Clearance
from pipeline.errors import CallerError
from pipeline.inbox import Inbox, open_inbox
from pipeline.log.actions import By, action

TERMS = Terms(frozenset({"unmask"}), instants.HOUR, has_logins=False)
WHERE = {"state": ["EXPIRED"]}


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[Inbox]:
    opened = open_inbox(tmp_path / "inbox.db")
    yield opened
    opened.close()


def asked(view: str = "seller_state", limit: int | None = None, at: int | None = None) -> Asked:
    found = acts.rows(view, as_of=at, where=WHERE, limit=limit)
    assert found is not None
    return found


def settle(
    inbox: Inbox, what: Asked | None = None, actor: str = "Ana", terms: Terms = TERMS
) -> Clearance | None:
    return clearances.settle(inbox, terms, what or asked(), By("a check", actor, "test"))


def waits(inbox: Inbox, what: Asked | None = None, actor: str = "Ana") -> str:
    """The name of the request that stands in the way."""
    with pytest.raises(Awaited) as found:
        settle(inbox, what, actor)
    return found.value.request_id


def decide(
    inbox: Inbox, request: str, actor: str = "Bia", *, terms: Terms = TERMS, no: bool = False
) -> None:
    decision: clearances.Decision = "refused" if no else "approved"
    clearances.decide(
        *(inbox, terms, request, decision),
        By("I read it", actor, "test"),
        is_proved=False,
    )


def approve(inbox: Inbox) -> None:
    decide(inbox, waits(inbox))


def begin(inbox: Inbox, clearance: Clearance | None) -> None:
    """Records the act, as what shows rows does."""
    assert clearance is not None
    said = {"view": "seller_state", "filters": WHERE}
    draft = action("unmask", reason="a check", actor="Ana", recorded_by="test", **said)
    clearance.check(inbox.append([clearance.begun_by(draft)])[0])


def steps(inbox: Inbox) -> list[str]:
    return [it.kind for it in inbox.read(0, 100)]


def test_nothing_waits_unless_a_setting_asks_for_it(inbox: Inbox) -> None:
    for terms in (acts.NOBODY, TERMS._replace(acts=frozenset({"export"}))):
        assert settle(inbox, terms=terms) is None
    assert steps(inbox) == []


@pytest.mark.parametrize("column", ["process_id", "seller_id", "attempt_id"])
def test_a_look_at_one_subject_is_not_one_at_many(column: str) -> None:
    assert acts.rows("submission_attempts", as_of=None, where={column: "x"}) is None
    assert acts.rows("submission_attempts", as_of=None, where={column: ["x", "y"]}) is not None


def test_asked_again_it_is_the_same_request_and_anything_else_is_another(inbox: Inbox) -> None:
    first = waits(inbox)
    others = [
        waits(inbox, asked("collections")),
        waits(inbox, asked(limit=5)),
        waits(inbox, asked(at=1)),
        waits(inbox, actor="Caio"),
    ]
    assert waits(inbox) == waits(inbox, actor=" ANA ") == first
    assert len({first, *others}) == 5
    assert len(steps(inbox)) == 5


@pytest.mark.parametrize(
    "name",
    [
        *("Ana", "ana ", "ＡＮＡ", "A\u200bna"),
        *("A\ufe0fna", "Ana\u3164", "An\u034fa", "Ana\u2800", "Ana\x07", "A\U000e0100na"),
        *("\u0410na", "An\u03b1", "\u0391N\u0430"),  # A and a of Cyrillic and Greek
    ],
)
def test_nobody_approves_what_they_asked_for(inbox: Inbox, name: str) -> None:
    request = waits(inbox)
    with pytest.raises(CallerError, match="somebody else has to decide"):
        decide(inbox, request, name)
    assert waits(inbox) == request


@pytest.mark.parametrize(
    "name",
    [
        *("", "\u3164", "\u200b\ufe0f"),
        "Ana \u042fna",  # one of its words cannot be read, and the other is who asked
        *("\u0391\u03bd\u03b1", "A\u03bda"),  # nu looks like v, and its capital like N
        *("\u0410na\u0436", "Ana\u056a", "\u042fna"),  # letters that no Latin one looks like
    ],
)
def test_nobody_decides_under_a_name_that_nobody_can_read(inbox: Inbox, name: str) -> None:
    request = waits(inbox)
    with pytest.raises(CallerError, match="Nothing was decided: nobody can read the name"):
        decide(inbox, request, name)
    assert waits(inbox) == request


def test_nobody_asks_under_a_name_that_can_be_read_in_two_ways(inbox: Inbox) -> None:
    """Else who asked could approve it under what the name looks like."""
    for name in ("A\u03bda", "Ana\u0436", "\u3164"):
        with pytest.raises(CallerError, match="nobody can tell how your name reads"):
            settle(inbox, actor=name)
    assert steps(inbox) == []


def test_where_people_log_in_a_name_alone_decides_nothing(inbox: Inbox) -> None:
    request = waits(inbox)
    with pytest.raises(CallerError, match="nothing proves who you are"):
        decide(inbox, request, terms=TERMS._replace(has_logins=True))


def test_nobody_approves_for_a_person_whose_name_they_took_out(inbox: Inbox) -> None:
    """Without the name, who asked could not be told from who decides."""
    request = waits(inbox)
    inbox.execute("delete from actors")
    for name in ("Ana", "Bia"):
        with pytest.raises(CallerError, match="lacks the name of who asked"):
            decide(inbox, request, name)
    assert steps(inbox) == ["clearance"]


def test_once_approved_it_begins_once_and_whoever_wants_more_asks_again(inbox: Inbox) -> None:
    request = waits(inbox)
    decide(inbox, request)
    clearance = settle(inbox)
    assert clearance is not None
    assert (clearance.request_id, clearance.reason) == (request, "a check")
    begin(inbox, clearance)
    assert waits(inbox) != request


def test_an_act_of_several_entries_uses_its_approval_once(inbox: Inbox) -> None:
    """Such as an override whose first attempt was not answered: its retry is the same act."""
    approve(inbox)
    clearance = settle(inbox)
    begin(inbox, clearance)
    begin(inbox, clearance)
    assert steps(inbox) == ["clearance", "clearance", "unmask", "unmask"]


def test_an_approval_holds_for_no_other_act_and_for_nobody_else(inbox: Inbox) -> None:
    decide(inbox, waits(inbox))
    assert settle(inbox) is not None
    waits(inbox, asked("collections"))
    waits(inbox, asked(limit=5))
    waits(inbox, actor="Caio")


def test_what_was_refused_does_not_begin_and_asking_again_is_another_request(inbox: Inbox) -> None:
    request = waits(inbox)
    decide(inbox, request, no=True)
    assert waits(inbox) != request
    with pytest.raises(CallerError, match="decided about it already"):
        decide(inbox, request)


def test_an_approval_ends_with_its_request(inbox: Inbox) -> None:
    request = waits(inbox)
    decide(inbox, request)
    asked_at = inbox.read(0, 1)[0].occurred_at
    inbox.clock = lambda: asked_at + instants.HOUR - 1
    assert settle(inbox) is not None
    inbox.clock = lambda: asked_at + instants.HOUR
    later = waits(inbox)
    assert later != request
    inbox.clock = lambda: asked_at + 2 * instants.HOUR
    with pytest.raises(CallerError, match="the request ended at"):
        decide(inbox, later)


def test_nobody_approves_what_nobody_asked_for(inbox: Inbox) -> None:
    with pytest.raises(CallerError, match="There is no request"):
        decide(inbox, "clr_0")
    assert steps(inbox) == []


def both(first, second) -> list[str]:  # type: ignore[no-untyped-def]
    """What two threads that start at once came to: done, or why not."""
    barrier, found = threading.Barrier(2), []

    def run(do) -> None:  # type: ignore[no-untyped-def]
        barrier.wait()
        try:
            do()
            found.append("done")
        except CallerError as error:
            found.append(error.what)

    threads = [threading.Thread(target=run, args=(it,)) for it in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(found)


def test_of_two_who_decide_at_once_one_does(inbox: Inbox, tmp_path: Path) -> None:
    request = waits(inbox)
    other = open_inbox(tmp_path / "inbox.db")
    found = both(
        lambda: decide(inbox, request, "Bia"), lambda: decide(other, request, "Caio", no=True)
    )
    other.close()
    assert found == ["Nothing was decided", "done"]
    assert steps(inbox) == ["clearance", "clearance"]


def test_of_two_processes_that_begin_the_act_one_does(inbox: Inbox, tmp_path: Path) -> None:
    decide(inbox, waits(inbox))
    other = open_inbox(tmp_path / "inbox.db")
    mine, theirs = settle(inbox), settle(other)
    found = both(lambda: begin(inbox, mine), lambda: begin(other, theirs))
    other.close()
    assert found == ["Nothing was done", "done"]
    assert steps(inbox).count("unmask") == 1


def test_a_restart_in_between_loses_nothing(tmp_path: Path) -> None:
    for do in (waits, approve, lambda opened: begin(opened, settle(opened))):
        opened = open_inbox(tmp_path / "inbox.db")
        do(opened)
        opened.close()
    opened = open_inbox(tmp_path / "inbox.db")
    assert steps(opened) == ["clearance", "clearance", "unmask"]
    opened.close()


def test_a_list_of_requests_shows_nothing_personal_of_what_was_asked() -> None:
    found = acts.rows(
        "seller_state", as_of=None, where={"email": "ana@example.com", "state": "DENIED"}
    )
    assert found is not None
    assert found.shown == {
        "view": "seller_state",
        "where": {"email": acts.HIDDEN, "state": "DENIED"},
    }
