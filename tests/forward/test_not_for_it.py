"""What is not for an endpoint never goes there, no matter who asks for it and whatever waits."""

import json
import threading
import time
from pathlib import Path

import pytest

from pipeline import instants
from pipeline.erasure.forgetting import forget
from pipeline.errors import CallerError
from pipeline.forward import endpoints, messages, operating, progress
from pipeline.inbox import Inbox
from pipeline.keys import secret_key
from pipeline.log.actions import By
from pipeline.log.deliveries import supply
from pipeline.log.entries import Entry
from pipeline.log.ndjson import read_line
from tests.forward.conftest import Forwarding, deliver, endpoints_file, has_begun, of_seller
from tests.forward.sink import OK, Reply, Sink
from tests.support import events
from tests.support.machine import wait_until
from tests.support.stores import settings_in

ANA = By("a test", "Ana", "user:ana")


def collected(inbox: Inbox) -> Entry:
    """A collection of another system, with a seller's answer in clear."""
    said = {
        "kind": "collection",
        "occurred_at": instants.canonical(instants.now()),
        "process_id": "prc_1",
        "seller_id": "sel_1",
        "journey_id": "jrn_of_another_system",
        "step": "answered",
        "channel": "web_form",
        "source": "seller",
        "actor": "Maria da Silva",
        "fields": {"address.line1": "Rua Secreta, 7"},
    }
    draft = read_line(json.dumps(said).encode(), recorded_by="token")._replace(origin="live")
    entry = inbox.append([draft])[0].entry
    assert entry is not None
    return entry


def completed(inbox: Inbox) -> Entry:
    """A delivery that could not be read, and that a person completed by hand."""
    [unread] = deliver(inbox, events.review(process_id=None))
    by = {"reason": "r", "actor": "Ana", "recorded_by": "user:ana"}
    drafts = supply(unread, {"payload.object.process_id": "prc_9"}, **by)
    entry = inbox.append(drafts)[1].entry
    assert entry is not None
    return entry


def dropped(inbox: Inbox) -> list[tuple[int, str]]:
    """Which entries the log says were dropped, and why."""
    said = [json.loads(it.body or b"") for it in inbox.find(kind="forwarding")]
    return [(it["seq"], it["why"]) for it in said if it["step"] == "dropped"]


def test_a_replay_of_what_is_not_for_an_endpoint_is_refused_and_nothing_is_sent(
    inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    """It was sent: another system's collection with the seller's answers in clear, events of types
    that the endpoint does not take, and our own bytes under the message id of the platform's."""
    takes = {"url": market.url, "events": ["bank_account.*", events.REVIEW], "redeliveries": False}
    with forwarding(takes) as settings:
        given = endpoints.load(settings.forward_file)
        has_begun(inbox)
        [created] = deliver(inbox, of_seller("sel_1"))
        raw, by_hand = collected(inbox), completed(inbox)
        [once] = deliver(inbox, body := events.review(process_id="prc_2"))
        [again] = deliver(inbox, body)
        begun = inbox.find(kind="forwarding")[0]
        wait_until(lambda: market.bodies == [body])
        for entry, why in (
            (created, "seller.created is not named"),
            (raw, "it is a collection, and no step of the seller's page"),
            (by_hand, "a person completed it by hand"),
            (again, "it is a redelivery, of which it takes none"),
            (begun, "it is not a live delivery"),
        ):
            with pytest.raises(CallerError, match=why) as refused:
                operating.replay_one(inbox, given, "to_1", entry.seq, ANA)
            assert refused.value.what == f"Entry {entry.seq} was not replayed to to_1"
            assert "`events` and `redeliveries` of to_1" in refused.value.remedy
        with pytest.raises(CallerError, match="there is no such entry"):
            operating.replay_one(inbox, given, "to_1", 999, ANA)
        with pytest.raises(CallerError, match="the file of endpoints has no such part any more"):
            operating.replay_one(inbox, (), "to_1", once.seq, ANA)
        operating.replay_one(inbox, given, "to_1", once.seq, ANA)
        wait_until(lambda: len(market.taken) == 2)
        time.sleep(1)
    assert [it.body for it in market.all] == [body, body]


def test_no_message_is_made_of_what_is_not_for_an_endpoint(inbox: Inbox, tmp_path: Path) -> None:
    every = ["*", "prazo.journey.*", "quarantined"]
    [endpoint] = endpoints.load(endpoints_file(tmp_path, {"url": "http://x/", "events": every}))
    for entry in (collected(inbox), completed(inbox)):
        with pytest.raises(ValueError, match=f"entry {entry.seq} is not for to_1"):
            messages.body_of(entry, endpoint)


def test_what_an_earlier_release_was_asked_to_send_and_is_not_for_it_is_dropped(
    inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    with forwarding({"url": market.url}):
        has_begun(inbox)
        raw = collected(inbox)
        inbox.execute(
            "insert into forward_waiting (endpoint, lane, seq, tries, due_at) "
            "values ('to_1', $1, $2, 0, 0)",
            f"entry {raw.seq}",
            raw.seq,
        )
        wait_until(lambda: dropped(inbox) != [])
        assert progress.waiting(inbox, "to_1") == []
    assert market.all == []
    assert dropped(inbox) == [(raw.seq, "it is a collection, and no step of the seller's page")]


def test_an_endpoint_whose_events_are_narrowed_gets_nothing_more_of_the_others(
    inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    """What waited there for another try came nevertheless."""
    market.answer = lambda received: Reply(500)
    waits, alike = of_seller("sel_1"), of_seller("sel_1")
    behind = [events.review(customer_id="sel_1", process_id=f"prc_{it}") for it in (1, 2)]
    other = of_seller("sel_2")
    with forwarding({"url": market.url}):
        has_begun(inbox)
        entries = deliver(inbox, waits, alike, *behind, other)
        wait_until(lambda: len(progress.waiting(inbox, "to_1")) == 2)
        wait_until(lambda: progress.standings(inbox)["to_1"].position >= entries[-1].seq)
    market.all.clear()
    market.answer = lambda received: Reply(200)
    with forwarding({"url": market.url, "events": [events.REVIEW]}):
        wait_until(lambda: len(market.taken) == 2 and progress.waiting(inbox, "to_1") == [])
        wait_until(lambda: len(dropped(inbox)) == 2)
    assert [it.body for it in market.all] == behind
    why = "seller.created is not named"
    assert sorted(dropped(inbox)) == [(entries[0].seq, why), (entries[4].seq, why)]
    assert progress.dead(inbox, "to_1") == []
    assert [it.kind for it in inbox.find(seller_id="sel_2")] == ["webhook", "forwarding"]


def test_what_was_read_and_then_erased_is_not_sent(
    inbox: Inbox, location: str, market: Sink, forwarding: Forwarding, tmp_path: Path
) -> None:
    """What waits in memory for an endpoint that is slow, down or paused was sent with its bytes,
    hours after nobody was to have them any more."""
    may_answer = threading.Event()

    def slow(_: object) -> Reply:
        may_answer.wait(30)
        return OK

    market.answer = slow
    settings = settings_in(tmp_path, inbox=location)
    secret_key(settings.taxpayer_key_file)
    with forwarding({"url": market.url, "concurrency": 1, "timeout_seconds": 40}):
        has_begun(inbox)
        deliver(inbox, of_seller("sel_1"), of_seller("sel_2", first_name="Secreta"))
        wait_until(lambda: len(market.all) == 1)
        done = forget(settings, inbox, "sel_2", reason="a test", actor="Ana", recorded_by="t")
        assert sum(done.kinds.values()) == 1
        time.sleep(1)  # it looks for erasures four times a second
        may_answer.set()
        deliver(inbox, of_seller("sel_3"))
        wait_until(lambda: any(b"sel_3" in it.body for it in market.taken))
    assert not any(b"sel_2" in it.body for it in market.all)
