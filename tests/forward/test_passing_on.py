"""What came goes on as it came: signed, in order per seller, to each endpoint for itself."""

import asyncio
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import pytest
import trustme

from pipeline.errors import InboxUnavailable
from pipeline.forward import courier, forwarder, progress
from pipeline.inbox import Inbox, open_inbox
from pipeline.log.deliveries import delivery, replay
from pipeline.log.kinds.quarantine import QUARANTINE
from pipeline.settings import Settings
from tests.forward.conftest import (
    SELLERS,
    Forwarding,
    deliver,
    endpoints_file,
    has_begun,
    of_seller,
)
from tests.forward.sink import OK, SECRET, Received, Reply, Sink, is_signed, silent, sink
from tests.support import events
from tests.support.machine import free_port, wait_until
from tests.support.stores import settings_in


def test_a_delivery_is_passed_on_byte_for_byte_and_signed(
    inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    odd = (
        b'{ "type":"seller.updated",  "id": 7,\n'
        b' "payload": {"object": {"id": "sel_9", "x": "\\u00e9\xc3\xa9"}}}\n'
    )
    with forwarding({"url": market.url}):
        has_begun(inbox)
        deliver(inbox, odd)
        wait_until(lambda: len(market.taken) == 1)
        deliver(
            inbox, events.sample("seller.denied"), content_type=b"application/json; charset=utf-8"
        )
        wait_until(lambda: len(market.taken) == 2)
    first, second = market.taken
    assert first.body == odd
    assert first.path == "/hooks/platform?from=prazo"
    assert first.headers["content-type"] == "application/json"
    assert second.headers["content-type"] == "application/json; charset=utf-8"
    assert is_signed(first)
    assert is_signed(second)
    assert first.id != second.id


def test_what_was_there_before_an_endpoint_is_not_passed_on_nor_what_is_not_a_live_delivery(
    inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    from pipeline.log.deliveries import delivery
    from tests.inbox.drafts import note

    deliver(inbox, of_seller("sel_1"))
    with forwarding({"url": market.url}):
        has_begun(inbox)
        history = delivery(
            of_seller("sel_1"), occurred_at=1, recorded_by="user:ana", origin="ingested"
        )
        inbox.append([note(), history])
        deliver(inbox, live := of_seller("sel_1"))
        wait_until(lambda: len(market.taken) >= 1)
    assert market.bodies == [live]


def test_a_file_that_changes_is_followed_and_one_with_a_mistake_stops_nothing(
    inbox: Inbox, market: Sink, forwarding: Forwarding, tmp_path: Path
) -> None:
    with sink() as other, forwarding({"url": market.url}):
        has_begun(inbox)
        (tmp_path / "forward.toml").write_text("[[endpoint]]\nname = 'UPPER'")
        deliver(inbox, of_seller("sel_1"))
        wait_until(lambda: len(market.taken) == 1)
        endpoints_file(tmp_path, {"url": market.url}, {"url": other.url})
        has_begun(inbox, "to_1", "to_2")
        deliver(inbox, last := of_seller("sel_2"))
        wait_until(lambda: len(market.taken) == 2 and len(other.taken) == 1)
    assert market.bodies[-1] == other.bodies[-1] == last


@pytest.mark.long
def test_an_endpoint_that_is_taken_out_of_the_file_gets_nothing_more_the_last_one_too(
    inbox: Inbox, market: Sink, forwarding: Forwarding, tmp_path: Path
) -> None:
    """A file without endpoints was taken for one with a mistake, and the former one held on."""
    with forwarding({"url": market.url}):
        has_begun(inbox)
        deliver(inbox, first := of_seller("sel_1"))
        wait_until(lambda: len(market.taken) == 1)
        (tmp_path / "forward.toml").write_text("# nobody any more\n")
        time.sleep(4)  # the file is looked at once a second
        deliver(inbox, later := of_seller("sel_1"))
        time.sleep(2)
        assert [it.body for it in market.all] == [first]
        endpoints_file(tmp_path, {"url": market.url})
        wait_until(lambda: market.bodies == [first, later])


def test_an_endpoint_gets_the_event_types_that_it_asks_for(
    inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    with (
        sink() as reviews,
        forwarding(
            {"url": market.url, "events": ["seller.d*", "quarantined"]},
            {"url": reviews.url, "events": [events.REVIEW]},
        ),
    ):
        has_begun(inbox, "to_1", "to_2")
        bodies = {it: events.sample(it) for it in events.EVENT_TYPES}
        unreadable = [b"not JSON", b"last: " + bodies["seller.denied"]]
        deliver(inbox, *bodies.values(), *unreadable)
        wanted = [bodies["seller.denied"], bodies["seller.disabled"], bodies["seller.deleted"]]
        wait_until(lambda: len(market.taken) == 5 and len(reviews.taken) == 1)
        assert reviews.bodies == [bodies[events.REVIEW]]
    assert sorted(market.bodies) == sorted([*wanted, *unreadable])


def test_an_event_that_comes_again_is_passed_on_again_unless_an_endpoint_wants_it_once(
    inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    with (
        sink() as sparing,
        forwarding({"url": market.url}, {"url": sparing.url, "redeliveries": False}),
    ):
        has_begun(inbox, "to_1", "to_2")
        event, last = of_seller("sel_1"), of_seller("sel_1")
        deliver(inbox, event)
        deliver(inbox, event, last)
        wait_until(lambda: len(market.taken) == 3 and len(sparing.taken) == 2)
        assert sparing.bodies == [event, last]
    assert market.bodies == [event, event, last]
    assert len({it.id for it in market.taken}) == 3


def test_what_was_in_quarantine_comes_once_more_as_the_same_message_once_it_can_be_read(
    inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    """An endpoint that began after it came has never had it, though it would take it now."""
    unread = delivery(of_seller("sel_1"), occurred_at=1, recorded_by="webhook")
    unread = unread._replace(kind=QUARANTINE, event_id=None, seller_id=None)
    with forwarding({"url": market.url, "events": ["quarantined", "seller.*"]}):
        has_begun(inbox)
        kept = inbox.append([unread])[0].entry
        assert kept is not None
        wait_until(lambda: len(market.taken) == 1)
    with (
        sink() as later,
        sink() as other,
        forwarding(
            {"url": market.url, "events": ["quarantined", "seller.*"]},
            {"url": later.url},
            {"url": other.url, "events": [events.REVIEW]},
        ),
    ):
        has_begun(inbox, "to_1", "to_2", "to_3")
        again = replay(kept, recorded_by="user:ana")
        assert again is not None
        inbox.append([again])
        wait_until(lambda: len(market.taken) == 2 and len(later.taken) == 1)
        assert later.bodies == [unread.body]
        assert other.taken == []
    assert market.bodies == [unread.body] * 2
    assert len({it.id for it in market.taken}) == 1


def test_each_seller_s_deliveries_keep_their_order_whatever_fails(
    inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    """Every third request fails, each in another way."""
    ways = [Reply(500), Reply(404), Reply(302, {"Location": "/elsewhere"}), Reply(410)]
    numbers = iter(range(10_000))

    def answer(received: Received) -> Reply:
        number = next(numbers)
        return ways[number // 3 % len(ways)] if number % 3 == 0 else OK

    market.answer = answer
    bodies = {seller: [of_seller(seller) for _ in range(6)] for seller in SELLERS}
    with forwarding({"url": market.url}):
        has_begun(inbox)
        for rank in range(6):
            deliver(inbox, *(bodies[seller][rank] for seller in SELLERS))
        wait_until(lambda: len(market.taken) == 18)
    for seller in SELLERS:
        assert [it for it in market.bodies if it in bodies[seller]] == bodies[seller]
    assert not any(it.path == "/elsewhere" for it in market.all)
    tries = Counter(it.body for it in market.all)
    ids = {it.body: {one.id for one in market.all if one.body == it.body} for it in market.all}
    assert max(tries.values()) > 1
    assert all(len(it) == 1 for it in ids.values()), "a repetition has the same message id"


def test_a_message_that_fails_holds_its_own_seller_up_and_nobody_else(
    inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    poison, *behind = [of_seller("sel_1") for _ in range(3)]
    others = [of_seller(f"other_{number}") for number in range(20)]
    market.answer = lambda received: Reply(500) if received.body == poison else OK
    with forwarding({"url": market.url}):
        has_begun(inbox)
        deliver(inbox, poison, *behind, *others)
        wait_until(lambda: len(market.taken) == 20)
        assert set(market.bodies) == set(others)
        market.answer = lambda received: OK
        wait_until(lambda: len(market.taken) == 23)
    assert market.bodies[20:] == [poison, *behind]


def test_a_seller_s_next_delivery_is_found_without_those_that_came_before(tmp_path: Path) -> None:
    """Of 50,000 that waited for one seller, each was found by going through all before it."""
    with closing(open_inbox(str(tmp_path / "inbox.db"))) as inbox:
        first, _, last = deliver(inbox, *(of_seller("sel_1") for _ in range(3)))
        given = ("sel_1", first.seq, last.seq)
        assert inbox.query(courier.NEXT_OF_SELLER, *given) == [(2,), (3,)]
        assert inbox.query(courier.NEXT_OF_SELLER, "sel_1", 0, 2) == [(1,), (2,)]
        [(*_, found_by), *_] = inbox.query(f"explain query plan {courier.NEXT_OF_SELLER}", *given)
    assert "seller_n>" in found_by


def test_an_endpoint_that_is_down_holds_no_other_up(
    inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    bodies = [of_seller(f"sel_{number}") for number in range(40)]
    closed = f"http://127.0.0.1:{free_port()}/"
    with silent() as mute, forwarding({"url": closed}, {"url": mute}, {"url": market.url}):
        has_begun(inbox, "to_1", "to_2", "to_3")
        began = time.monotonic()
        last = deliver(inbox, *bodies)[-1].seq
        wait_until(lambda: len(market.taken) == 40)
        assert time.monotonic() - began < 30
        wait_until(lambda: progress.standings(inbox)["to_3"].position >= last)
        waiting = progress.standings(inbox)
        assert waiting["to_1"].last_success_at is waiting["to_2"].last_success_at is None
    assert sorted(market.bodies) == sorted(bodies)


def test_an_endpoint_that_comes_back_gets_all_of_it_in_order(
    inbox: Inbox, forwarding: Forwarding
) -> None:
    """While it is down it gets one message at a time, and few messages are tried at all."""
    port = free_port()
    bodies = {seller: [of_seller(seller) for _ in range(20)] for seller in SELLERS}
    with forwarding({"url": f"http://127.0.0.1:{port}/"}):
        has_begun(inbox)
        for rank in range(20):
            deliver(inbox, *(bodies[seller][rank] for seller in SELLERS))
        wait_until(lambda: len(progress.waiting(inbox, "to_1")) == 3)
        assert progress.standings(inbox)["to_1"].failing_since is not None
        with sink(port) as back:
            wait_until(lambda: len(back.taken) == 60)
            taken = back.bodies
    for seller in SELLERS:
        assert [it for it in taken if it in bodies[seller]] == bodies[seller]
    assert progress.waiting(inbox, "to_1") == []
    assert progress.standings(inbox)["to_1"].failing_since is None


def test_no_more_messages_are_under_way_than_the_endpoint_wants(
    inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    def answer(received: Received) -> Reply:
        time.sleep(0.02)
        return OK

    market.answer = answer
    with forwarding({"url": market.url, "concurrency": 3}):
        has_begun(inbox)
        deliver(inbox, *(of_seller(f"sel_{number}") for number in range(60)))
        wait_until(lambda: len(market.taken) == 60)
    assert market.most_at_once == 3


def test_an_answer_may_be_as_long_as_it_likes_and_is_not_read_on(
    inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    market.answer = lambda received: Reply(200, {}, b"-" * 20_000_000)
    with forwarding({"url": market.url}):
        has_begun(inbox)
        last = deliver(inbox, of_seller("sel_1"), of_seller("sel_1"))[-1].seq
        wait_until(lambda: progress.standings(inbox)["to_1"].position >= last)
    assert len(market.taken) == 2


def test_an_endpoint_that_asks_for_time_gets_nothing_before(
    inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    asked_at: list[float] = []
    came_at: list[float] = []

    def answer(received: Received) -> Reply:
        if not asked_at:
            asked_at.append(time.monotonic())
            return Reply(429, {"Retry-After": "3"})
        came_at.append(time.monotonic())
        return OK

    market.answer = answer
    with forwarding({"url": market.url, "concurrency": 1}):
        has_begun(inbox)
        deliver(inbox, of_seller("sel_1"), of_seller("sel_2"))
        wait_until(lambda: len(market.taken) == 2)
    assert came_at[0] - asked_at[0] > 2.9


def test_what_fails_for_too_long_is_a_dead_letter_and_its_seller_goes_on(
    inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    poison, behind = events.review(customer_id="sel_1"), of_seller("sel_1")
    market.answer = lambda received: Reply(422) if received.body == poison else OK
    with forwarding({"url": market.url, "give_up_hours": 0.0001}):
        has_begun(inbox)
        [bad, _] = deliver(inbox, poison, behind)
        wait_until(lambda: market.bodies == [behind], seconds=120)
        wait_until(lambda: progress.dead(inbox, "to_1") != [])
    [letter] = progress.dead(inbox, "to_1")
    assert (letter.seq, letter.error, letter.tries >= 5) == (bad.seq, "status 422", True)
    [entry] = [it for it in inbox.find(process_id="prc_1") if it.kind == "forwarding"]
    assert entry.seller_id == "sel_1"
    assert b'"step":"dead"' in (entry.body or b"")
    assert b'"endpoint":"to_1"' in (entry.body or b"")
    assert progress.waiting(inbox, "to_1") == []


def test_while_a_secret_is_rotated_both_sign(
    inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    secrets = [SECRET, "whsec_" + "A" * 32]
    with forwarding({"url": market.url}) as settings:
        assert settings.forward_file is not None
        has_begun(inbox)
        (settings.forward_file.parent / "forward.secret").write_text("\n".join(secrets))
        time.sleep(1.1)  # files are looked at once a second
        deliver(inbox, of_seller("sel_1"))
        wait_until(lambda: len(market.taken) == 1)
    assert [is_signed(market.taken[0], it) for it in secrets] == [True, True]


def test_a_file_of_authorities_that_changes_is_followed(
    inbox: Inbox,
    market: Sink,
    forwarding: Forwarding,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The endpoint's new certificate was refused until the forwarder was started again; after three
    days its deliveries were given up. Half of a rotation changes nothing, also where all begin
    again meanwhile: then one such file kept every endpoint's deliveries back."""
    caplog.set_level("INFO")
    first, second = trustme.CA(), trustme.CA()
    file, other = tmp_path / "authorities.pem", tmp_path / "others.pem"
    first.cert_pem.write_to_path(file)
    first.cert_pem.write_to_path(other)
    market.answer = lambda _: Reply(headers={"Connection": "close"})
    url = market.show(first)
    with forwarding({"url": url, "ca_file": str(file)}, {"url": url, "ca_file": str(other)}):
        has_begun(inbox, "to_1", "to_2")
        file.write_text("half of a rotation")
        (tmp_path / "forward.secret").write_text("whsec_")
        wait_until(lambda: "what was read before stays in force" in caplog.text)
        other.write_bytes(first.cert_pem.bytes() + second.cert_pem.bytes())
        wait_until(lambda: "a file of authorities of the endpoints has changed" in caplog.text)
        wait_until(lambda: caplog.text.count("deliveries go to to_2") == 2)
        deliver(inbox, of_seller("sel_1"))
        wait_until(lambda: len(market.taken) == 2, 20)
        assert all(is_signed(it) for it in market.taken)
        market.show(second)
        second.cert_pem.write_to_path(file)
        deliver(inbox, of_seller("sel_1"))
        wait_until(lambda: len(market.taken) == 4, 20)


def test_a_file_with_a_mistake_stops_nothing_where_the_inbox_is_away_for_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file was read again with the inbox, and refused: nobody got anything."""
    file = endpoints_file(tmp_path, {"url": "https://erp.example/"})
    slept: list[float] = []

    def is_away(_: Settings) -> NoReturn:
        file.write_text("[[endpoint]]\nname = 'UPPER'")
        raise InboxUnavailable("The inbox cannot be opened")

    async def sleep(stop: asyncio.Event, seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2:
            stop.set()

    monkeypatch.setattr(forwarder, "open_guarded", is_away)
    monkeypatch.setattr(forwarder, "_sleep", sleep)
    forwarder.run_for_ever(settings_in(tmp_path, forward_file=file))
    assert slept == [forwarder.RECHECK_SECONDS] * 2


def test_a_delivery_that_is_larger_than_what_is_read_at_once_holds_nothing_up(
    inbox: Inbox, market: Sink, forwarding: Forwarding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It came back alone as the entry before, and whatever followed was never read."""
    monkeypatch.setattr(courier, "BYTES_PER_READ", 2000)
    large, small = of_seller("sel_1", note="y" * 5000), of_seller("sel_2")
    with forwarding({"url": market.url}):
        has_begun(inbox)
        deliver(inbox, large)
        wait_until(lambda: len(market.taken) == 1)
        deliver(inbox, small)
        wait_until(lambda: len(market.taken) == 2)
    assert market.bodies == [large, small]
