"""What an erasure takes and what it leaves: whose an entry is, and whose data is still owed."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants
from pipeline.audit.export import export
from pipeline.audit.request import Scope
from pipeline.continuity.service import LedgerService
from pipeline.erasure import finding
from pipeline.erasure.forgetting import forget
from pipeline.errors import CallerError
from pipeline.inbox import Inbox
from pipeline.log import erasures
from pipeline.log.deliveries import supply
from pipeline.log.kinds.erasure import ERASURE
from pipeline.log.kinds.quarantine import QUARANTINE
from pipeline.settings import Settings
from tests.audit import story
from tests.audit.conftest import request
from tests.erasure import person
from tests.erasure.conftest import ON_SQLITE
from tests.erasure.test_forgetting import SAID
from tests.erasure.test_what_stays import as_owner

pytestmark = ON_SQLITE
DAY = 86_400_000_000


def review_of(process_id: str, at: int, **more: Any) -> dict[str, Any]:
    """The line of a review of the person, of 60 days from this instant on."""
    said = {"process_id": process_id, "deadline_at": instants.canonical(at + 60 * DAY)}
    return person.review(instants.canonical(at), process_id, **said, **more)


@pytest.mark.parametrize(("days_ago", "state"), [(1, "PENDING"), (31, "OVERDUE"), (61, "EXPIRED")])
def test_one_review_of_several_that_waits_is_waited_for(
    days_ago: int, state: str, settings: Settings, inbox: Inbox
) -> None:
    """Whatever its state is, and though the seller was denied: that one is still asked."""
    denied = {"id": person.SELLER, "status": "denied"}
    person.add_lines(
        inbox,
        review_of("prc_2", inbox.now() - days_ago * DAY),
        person.event("2026-03-10T09:00:00Z", "d1", "seller.denied", denied),
    )
    with pytest.raises(CallerError, match=rf"not finished: prc_2 \({state}\)"):
        forget(settings, inbox, person.SELLER, **SAID)
    assert inbox.find(kind=ERASURE) == []


def test_a_process_of_which_no_review_is_known_holds_nothing_up(
    settings: Settings, inbox: Inbox
) -> None:
    assert inbox.find(process_id="prc_10", kind="webhook") == []
    assert forget(settings, inbox, person.OTHER, **SAID).kinds["collection"] == 1


def test_what_names_another_seller_stays_whoever_began_it(settings: Settings, inbox: Inbox) -> None:
    """And what names nobody goes with the process that it stands in."""
    of_attempt = {"process_id": person.PROCESS, "attempt_id": "b1"}
    at = {"occurred_at": "2026-03-06T10:00:00Z"}
    person.add_lines(
        inbox,
        {"kind": "submission_started", "seller_id": person.SELLER, **of_attempt, **at},
        {
            **{"kind": "submission_finished", "status": 400, "error": None, **of_attempt, **at},
            **{"seller_id": person.OTHER, "body": {"of": "Joana"}},
        },
        {"kind": "note", "process_id": person.PROCESS, "actor": "bia", "reason": "Olinda", **at},
    )
    [end, note] = inbox.read(inbox.last()[0] - 2, 2)
    forget(settings, inbox, person.SELLER, **SAID)
    assert inbox.entry(end.seq) == end
    kept = inbox.entry(note.seq)
    assert kept is not None
    assert kept.is_erased


def event_of(**about: str) -> bytes:
    """A review's event that says this alone of it."""
    said = {"type": "REGISTRATION_REVIEW_REQUIRED", "status": "FINISHED", **about}
    event = {"id": "e7", "type": "regulatory.registration.review.required"}
    event |= {"created_at": "2026-03-02T09:00:00Z", "payload": {"object": said}}
    return json.dumps(event).encode()


def test_a_delivery_in_quarantine_that_names_nobody_goes_with_what_it_was_read_as(
    settings: Settings, inbox: Inbox
) -> None:
    """Whose it is was supplied by hand."""
    story.deliver_bytes(inbox, event_of(of="Mariana"))
    held = inbox.find(kind=QUARANTINE)[-1]
    assert b"Mariana" in (held.body or b"")
    lacked = {"process_id": person.PROCESS, "customer_id": person.SELLER}
    inbox.append(supply(held, {f"payload.object.{it}": of for it, of in lacked.items()}, **SAID))
    forget(settings, inbox, person.SELLER, **SAID)
    kept = inbox.entry(held.seq)
    assert kept is not None
    assert kept.is_erased


def test_a_delivery_that_names_nobody_goes_with_its_process(
    settings: Settings, inbox: Inbox
) -> None:
    """Not with a seller whose id stands somewhere in it."""
    story.deliver_bytes(inbox, event_of(process_id="prc_10", referrer=person.SELLER))
    last, _ = inbox.last()
    entry = inbox.entry(last)
    assert entry is not None
    assert (entry.kind, entry.process_id, entry.seller_id) == ("webhook", "prc_10", None)
    forget(settings, inbox, person.SELLER, **SAID)
    assert inbox.entry(last) == entry
    forget(settings, inbox, person.OTHER, **SAID)
    assert b"referrer" not in (inbox.read(last - 1, 1)[0].body or b"")


def test_a_delivery_in_quarantine_that_somebody_changed_is_not_erased(
    settings: Settings, inbox: Inbox
) -> None:
    [held] = [it for it in inbox.find(kind=QUARANTINE) if it.body == person.BROKEN.encode()]
    as_owner(settings, person.BROKEN.replace("Mariana", "Joana").encode(), held.seq)
    with pytest.raises(CallerError, match=f"entries {held.seq} of the seller are not as they were"):
        forget(settings, inbox, person.SELLER, **SAID)


def test_packages_that_were_made_of_the_person_are_named(
    settings: Settings, inbox: Inbox, tmp_path: Path
) -> None:
    with closing(LedgerService(settings)) as service:
        service.catch_up()
        for scope in (Scope(process_id=person.PROCESS), Scope(seller_id=person.OTHER)):
            export(service, request(scope), tmp_path / f"{scope.seller_id}.zip")
    [of_person, of_other] = inbox.find(kind="export")
    assert of_other.seller_id == person.OTHER
    for is_dry_run in (True, False):
        done = forget(settings, inbox, person.SELLER, **SAID, is_dry_run=is_dry_run)
        assert done.exports == (of_person.seq,)


def test_many_entries_are_erased_a_thousand_at_a_time(
    settings: Settings, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here five. And what nobody can place is looked for some at a time."""
    monkeypatch.setattr(erasures, "MOST_ENTRIES", 5)
    monkeypatch.setattr(finding, "ENTRIES_PER_READ", 2)
    monkeypatch.setattr(finding, "SEQS_PER_QUESTION", 6)
    done = forget(settings, inbox, person.SELLER, **SAID)
    assert done.kinds == person.ERASED
    said = [json.loads(it.body or b"")["entries"] for it in inbox.find(kind=ERASURE)]
    assert len(said) == len(done.seqs)
    assert (max(said), sum(said)) == (5, sum(person.ERASED.values()))
