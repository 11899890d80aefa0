"""Pause, resume, replay: what a person asks for is done, once, and stands in the log."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from pipeline import instants
from pipeline.errors import CallerError
from pipeline.forward import courier, endpoints, operating, progress
from pipeline.forward.entries import begun
from pipeline.forward.lanes import Lanes
from pipeline.forward.progress import Waiting
from pipeline.inbox import Inbox
from pipeline.log.actions import By
from pipeline.log.entries import LIVE, Draft
from pipeline.log.kinds.collection import COLLECTION
from tests.forward.conftest import Forwarding, deliver, endpoints_file, has_begun, of_seller
from tests.forward.sink import OK, Received, Reply, Sink
from tests.support import events
from tests.support.ledgers import said_in
from tests.support.machine import wait_until

ANA = By("a test", "Ana", "user:ana")


def said(inbox: Inbox, *steps: str) -> list[dict[str, Any]]:
    """What entries of these steps say."""
    found = inbox.find(kind="forwarding")
    return [said_in(it) for it in found if json.loads(it.body or b"")["step"] in steps]


def test_a_paused_endpoint_gets_nothing_until_it_is_resumed_and_then_all(
    inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    first, *later = [of_seller("sel_1") for _ in range(4)]
    with forwarding({"url": market.url}):
        has_begun(inbox)
        deliver(inbox, first)
        wait_until(lambda: len(market.taken) == 1)
        operating.pause(inbox, "to_1", ANA)
        time.sleep(1)
        deliver(inbox, *later)
        time.sleep(1)
        assert market.bodies == [first]
        with pytest.raises(CallerError, match="paused already"):
            operating.pause(inbox, "to_1", ANA)
        operating.resume(inbox, "to_1", ANA)
        with pytest.raises(CallerError, match="is not paused"):
            operating.resume(inbox, "to_1", ANA)
        wait_until(lambda: len(market.taken) == 4)
    assert market.bodies == [first, *later]
    entries = said(inbox, "paused", "resumed")
    assert [it["step"] for it in entries] == ["paused", "resumed"]
    assert {(it["actor"], it["reason"], it["endpoint"]) for it in entries} == {
        ("Ana", "a test", "to_1")
    }


def test_everything_from_an_entry_or_an_instant_on_comes_once_more_with_its_ids(
    inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    bodies = [of_seller("sel_1") for _ in range(5)]
    with forwarding({"url": market.url}):
        has_begun(inbox)
        deliver(inbox, *bodies[:3])
        wait_until(lambda: len(market.taken) == 3)
        time.sleep(0.01)
        between = instants.now()
        fourth, fifth = deliver(inbox, *bodies[3:])
        wait_until(lambda: progress.standings(inbox)["to_1"].position >= fifth.seq)
        operating.replay_from(inbox, "to_1", fifth.seq, ANA)
        wait_until(lambda: len(market.taken) == 6)
        wait_until(lambda: progress.standings(inbox)["to_1"].position >= fifth.seq)
        assert operating.replay_since(inbox, "to_1", between, ANA) == fourth.seq
        wait_until(lambda: len(market.taken) == 8)
    assert market.bodies == [*bodies, bodies[4], bodies[3], bodies[4]]
    assert len({it.id for it in market.taken}) == 5
    assert [it["from_seq"] for it in said(inbox, "replayed")] == [fifth.seq, fourth.seq]


def test_a_dead_letter_that_is_replayed_comes_by_itself(
    inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    poison, behind = events.review(customer_id="sel_1"), of_seller("sel_1")
    market.answer = lambda received: Reply(422) if received.body == poison else OK
    with forwarding({"url": market.url, "give_up_hours": 0.0001}) as settings:
        given = endpoints.load(settings.forward_file)
        has_begun(inbox)
        [bad, _] = deliver(inbox, poison, behind)
        wait_until(lambda: progress.dead(inbox, "to_1") != [], seconds=120)
        wait_until(lambda: market.bodies == [behind])
        market.answer = lambda received: OK
        operating.replay_one(inbox, given, "to_1", bad.seq, ANA)
        wait_until(lambda: len(market.taken) == 2)
        wait_until(lambda: progress.waiting(inbox, "to_1") == [])
    assert market.bodies == [behind, poison]
    assert progress.dead(inbox, "to_1") == []
    assert said(inbox, "replayed")[0]["seq"] == bad.seq
    steps = [json.loads(it.body or b"")["step"] for it in inbox.find(process_id="prc_1")[1:]]
    assert steps == ["dead", "replayed"]


def test_what_is_asked_for_once_more_before_its_last_sending_was_kept_comes_again(
    inbox: Inbox, tmp_path: Path
) -> None:
    """Of the last second: it was taken out with the wish before, or refused as not sent yet."""
    given = endpoints.load(endpoints_file(tmp_path, {"url": "http://x/"}))
    entries = deliver(inbox, of_seller("sel_1"), events.event(payload={}), of_seller("sel_2"))
    progress.begin(inbox, "to_1", 0, 0, begun("to_1", 0, 0))
    row = progress.standings(inbox)["to_1"]

    def listen() -> None:
        for letter in progress.asked_for(inbox, "to_1"):
            lanes.ask(letter)

    def ask() -> None:
        operating.replay_one(inbox, given, "to_1", 2, ANA)

    def is_sent(is_taken: bool = True) -> bool:
        tried = lanes.next(instants.now(), 4)
        if tried is not None and is_taken:
            lanes.taken(tried, None, instants.now(), 0.5)
        elif tried is not None:
            lanes.failed(tried, "status 500", now=instants.now(), asked=None, random=0.5)
        return tried is not None

    def save() -> None:
        assert progress.save(inbox, "to_1", row, lanes.changed, lanes.wishes, [])
        for lane in lanes.changed:
            lanes.wishes.pop(lane, None)
        lanes.changed.clear()

    ask()
    lanes = Lanes(3, entries[2].leaf, progress.waiting(inbox, "to_1"))
    for is_taken in (True, False):
        assert is_sent(is_taken)
        listen()
        ask()  # another one, which nobody has heard
        listen()
        assert not is_sent(), "it is heard once the last one is kept"
        save()
        listen()
    assert is_sent()
    save()
    listen()
    assert progress.waiting(inbox, "to_1") == []
    assert not is_sent()
    lanes = Lanes(0, None, [])
    lanes.read(entries[1], is_for_it=True)
    ask()
    listen()
    assert is_sent(is_taken=False), "what is read and not sent yet is sent first"
    assert not is_sent()
    # All of it was sent, and the row says as much in a second.
    stuck = Waiting("seller sel_1", 1, 3, 5, 7, "status 500")
    row = row._replace(position=1, leaf=entries[0].leaf)
    assert progress.save(inbox, "to_1", row, {stuck.lane: stuck}, {}, [])
    operating.replay_from(inbox, "to_1", 3, ANA)
    assert progress.standings(inbox)["to_1"].position == 1
    assert progress.settled_in_log(inbox, "to_1") == 0, "entry 1 waits"
    operating.replay_from(inbox, "to_1", 1, ANA)
    assert not progress.go_back(inbox, "to_1", row, 2, begun("to_1", 2, 0))
    assert progress.standings(inbox)["to_1"].position == 0


def test_going_back_takes_dead_letters_along_and_what_still_waits_before_stays(
    inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    stuck, poison, other = of_seller("sel_1"), of_seller("sel_2"), of_seller("sel_3")
    with forwarding({"url": market.url}):
        has_begun(inbox)
        market.answer = lambda received: Reply(500) if received.body == stuck else OK
        [waits, again] = [*deliver(inbox, stuck), *deliver(inbox, poison)]
        deliver(inbox, other)
        wait_until(lambda: len(market.taken) == 2 and progress.waiting(inbox, "to_1") != [])
        wait_until(lambda: progress.standings(inbox)["to_1"].position > again.seq)
        operating.replay_from(inbox, "to_1", again.seq, ANA)
        wait_until(lambda: len(market.taken) == 4)
        assert [it.seq for it in progress.waiting(inbox, "to_1")] == [waits.seq]
        market.answer = lambda received: OK
        wait_until(lambda: len(market.taken) == 5)
    assert sorted(market.bodies) == sorted([poison, other, poison, other, stuck])


@pytest.mark.parametrize(("seq", "why"), [(0, "at entry"), (99, "at entry")])
def test_nothing_is_skipped_by_a_replay_from_beyond_the_position(
    seq: int, why: str, inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    with forwarding({"url": market.url}):
        has_begun(inbox)
    with pytest.raises(CallerError, match=why):
        operating.replay_from(inbox, "to_1", seq, ANA)
    assert said(inbox, "replayed") == []


def test_what_cannot_be_done_is_refused_in_words(inbox: Inbox, location: str) -> None:
    for wish in (
        lambda: operating.pause(inbox, "erp", ANA),
        lambda: operating.resume(inbox, "erp", ANA),
        lambda: operating.replay_from(inbox, "erp", 1, ANA),
        lambda: operating.replay_one(inbox, (), "erp", 1, ANA),
    ):
        with pytest.raises(CallerError, match="No forwarder has seen an endpoint erp"):
            wish()
    with pytest.raises(CallerError, match="a reason and a name are needed"):
        operating.pause(inbox, "erp", By("", "Ana", "user:ana"))
    assert inbox.last()[0] == 0


def test_the_log_says_in_the_end_that_nothing_waits_though_no_other_delivery_comes(
    inbox: Inbox, market: Sink, forwarding: Forwarding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Metrics and their alerts go by it: else they would call somebody to what is well."""

    def last() -> dict[str, Any]:
        return ([{}, *said(inbox, "progress")])[-1]

    def slowly(received: Received) -> Reply:
        time.sleep(0.6)
        return OK

    monkeypatch.setattr(courier, "REPORTED_AFTER", 0)
    monkeypatch.setattr(courier, "TURN_REPORTED_AFTER", 0)
    monkeypatch.setattr(courier, "SAVE_SECONDS", 0)
    market.answer = lambda received: Reply(500)
    with forwarding({"url": market.url}):
        has_begun(inbox)
        [one] = deliver(inbox, of_seller("sel_1"))
        wait_until(lambda: "failing_since_us" in last())
        assert last()["settled"] < one.seq
    market.answer = lambda received: OK
    with forwarding({"url": market.url}):  # another forwarder owes what the former one said
        wait_until(lambda: "failing_since_us" not in last())
        assert (last()["waiting"], last()["settled"] >= one.seq) == (0, True)
        market.answer = slowly
        [two] = deliver(inbox, of_seller("sel_2"))
        wait_until(lambda: len(market.taken) == 2)
        wait_until(lambda: last()["position"] >= two.seq)
        ended = len(said(inbox, "progress"))
        time.sleep(0.6)
        assert len(said(inbox, "progress")) == ended


def test_no_collection_has_the_log_say_once_more_how_far_an_endpoint_is(
    inbox: Inbox, market: Sink, forwarding: Forwarding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forwarder that was started after one said so, and the one that had read it did not."""
    monkeypatch.setattr(courier, "REPORTED_AFTER", 0)
    monkeypatch.setattr(courier, "SAVE_SECONDS", 0)
    with forwarding({"url": market.url}):
        has_begun(inbox)
        [one] = deliver(inbox, of_seller("sel_1"))
        wait_until(lambda: any(it["settled"] >= one.seq for it in said(inbox, "progress")))
    ended = len(said(inbox, "progress"))
    collected = Draft(
        kind=COLLECTION,
        occurred_at=instants.now(),
        origin=LIVE,
        recorded_by="api:shop",
        body=b"{}",
    )
    inbox.append([collected])
    last = inbox.last()[0]

    for _ in range(2):
        with forwarding({"url": market.url}):
            wait_until(lambda: progress.standings(inbox)["to_1"].position >= last)
            time.sleep(0.3)
    assert len(said(inbox, "progress")) == ended


@pytest.mark.parametrize("location", ["sqlite"], indirect=True)
def test_looking_for_what_is_wanted_reads_no_dead_letter(inbox: Inbox) -> None:
    """It is asked each second; of 50,000 dead letters it took a tenth of a core."""
    asked = f"explain query plan {progress._WAITING} and {progress.WISH} order by seq"
    plan = inbox.query(asked, "crm")
    assert any("USING INDEX forward_wishes" in step for *_, step in plan)
