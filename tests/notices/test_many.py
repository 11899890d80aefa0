"""Five hundred sellers within a minute, with progress, on a machine that does nothing else."""

import json
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from pipeline.notices import batches, sending
from pipeline.notices.sending import Done, Sending
from tests import depth
from tests.alert.sinks import Posted, WebhookServer
from tests.notices.office import Office, results_of
from tests.notices.test_sending import BY_SMS

SELLERS = 60
SECONDS = 60.0 * SELLERS / 500
SLOWER = 6
"""Other tests run beside this one, and the servers of this one."""


def presses_send_by(office: Office, server: WebhookServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has presses send by this service alone, without a wait between its tries."""
    rules = office.webhook(server.url)
    monkeypatch.setattr(batches, "Sending", lambda *_: office.sending(rules))


def pressed(office: Office, wanted: list[str]) -> Sequence[Done]:
    """What became of a press for these sellers, at its end."""
    batch = batches.start(office.settings(), office.inbox, wanted, BY_SMS)
    batch.wait(60)
    return batch.done


@pytest.mark.long
def test_many_sellers_are_written_to_in_a_moment_and_each_is_heard_of(office: Office) -> None:
    wanted = [f"sel_{n}" for n in range(SELLERS)]
    for seller_id in wanted:
        office.seller(seller_id, phone_number="+5511912345678")
        office.review(f"prc_of_{seller_id}", seller_id)
    heard = []
    with WebhookServer().running() as server:
        send = office.sending(office.webhook(server.url))
        began = time.monotonic()
        done = send.send(wanted, BY_SMS, heard.append)
        seconds = time.monotonic() - began
    assert results_of(done) == dict.fromkeys(wanted, ("accepted", None))
    assert [it.seller_id for it in done] == wanted
    assert {it.seller_id for it in heard} == {*wanted}
    assert len(server.taken) == SELLERS
    assert seconds < SECONDS * SLOWER, f"{SELLERS} took {seconds:.1f} s"


def test_a_press_that_broke_off_says_so(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an error that nobody had thought of the page said that all was done."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    with WebhookServer().running() as server:
        send = office.sending(office.webhook(server.url))
        monkeypatch.setattr(send, "send_one", broken)
        batch = batches.Batch("log", ["sel_1"], BY_SMS, office.inbox.now())
        batch.run(send)
    assert batch.is_over
    assert batch.error is not None
    assert "ZeroDivisionError" in str(batch.error)


@pytest.mark.parametrize("fails", depth.few([{"sel_1", "sel_2"}, {"sel_2"}], 2))
@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_press_that_came_to_its_end_can_be_pressed_again(
    office: Office, monkeypatch: pytest.MonkeyPatch, fails: set[str], is_restarted: bool
) -> None:
    """Where one was left out, those to whom the service had sent nothing got nothing all day."""
    wanted = ["sel_1", "sel_2", "sel_3"]
    for seller_id in wanted:
        has = {} if seller_id == "sel_3" else {"phone_number": "+5511912345678"}
        office.seller(seller_id, **has)
        office.review(f"prc_of_{seller_id}", seller_id)
    with WebhookServer().running() as server:
        presses_send_by(office, server, monkeypatch)

        def press() -> dict[str, str | None]:
            left_out = ("again", "just_sent", "no_address")
            done = pressed(office, wanted)
            return {it.seller_id: it.why if it.why in left_out else it.result for it in done}

        def status_for(posted: Posted) -> int:
            return 429 if json.loads(posted.body)["data"]["seller_id"] in fails else 204

        monkeypatch.setattr(server, "status_for", status_for)
        first = {it: "failed" if it in fails else "accepted" for it in wanted[:2]}
        assert press() == {**first, "sel_3": "no_address"}
        if is_restarted:
            monkeypatch.setattr(batches, "_BATCHES", [])
        monkeypatch.setattr(server, "status_for", lambda _: 204)
        then = {it: "accepted" if it in fails else "just_sent" for it in wanted[:2]}
        assert press() == {**then, "sel_3": "no_address"}


def test_the_same_list_goes_on_where_an_earlier_press_broke_off(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a restart of the dashboard nobody knew of the press, and all got a second message."""
    monkeypatch.setattr(sending, "RECENTLY", 0)
    wanted = ["sel_1", "sel_2"]
    for seller_id in wanted:
        office.seller(seller_id, phone_number="+5511912345678")
        office.review(f"prc_of_{seller_id}", seller_id)
    with WebhookServer().running() as server:
        presses_send_by(office, server, monkeypatch)

        def press() -> dict[str, str | None]:
            return {it.seller_id: it.why or it.result for it in pressed(office, wanted)}

        send_one = Sending.send_one

        def dies(self: Sending, seller_id: str, *more: Any) -> Any:
            if seller_id == "sel_2":
                raise SystemExit
            return send_one(self, seller_id, *more)

        with monkeypatch.context() as broken:
            broken.setattr(Sending, "send_one", dies)
            broken.setattr(threading, "excepthook", lambda _: None)
            assert press() == {"sel_1": "accepted"}
        monkeypatch.setattr(batches, "_BATCHES", [])
        assert press() == {"sel_1": "again", "sel_2": "accepted"}
        assert len({it["once"] for it in office.notices()}) == 1
        # All were written to: the next press is another one.
        assert press() == {"sel_1": "accepted", "sel_2": "accepted"}
    assert len(server.taken) == 4
