"""Five hundred sellers within a minute, with progress, on a machine that does nothing else."""

import time

import pytest

from pipeline.notices import batches
from tests.alert.sinks import WebhookServer
from tests.notices.office import Office, results_of
from tests.notices.test_sending import BY_SMS

SELLERS = 60
SECONDS = 60.0 * SELLERS / 500
SLOWER = 6
"""Other tests run beside this one, and the servers of this one."""


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
