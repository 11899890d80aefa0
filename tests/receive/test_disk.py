"""No 200 before the disk has it: with a disk that is slow, broken or full."""

import time
from pathlib import Path

from tests.faults.shim import FsyncShim
from tests.receive.conftest import Start
from tests.support.events import event, of_size
from tests.support.machine import wait_until
from tests.support.senders import sending


def test_no_delivery_is_acknowledged_before_its_sync_has_returned(
    start: Start, fsync_shim: FsyncShim
):
    slow = start(environment=fsync_shim.env)
    assert slow.deliver(event()).status == 200
    fsync_shim.delay(1000)
    with slow.wire() as wire:
        began = time.monotonic()
        body = event()
        wire.send(
            b"POST /webhooks HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b"
            % (len(body), body)
        )
        assert wire.is_quiet_for(max(0.0, began + 0.9 - time.monotonic()))
        assert slow.ask("GET", "/healthz").status == 200  # it goes on serving meanwhile
        assert wire.answer().status == 200
        assert time.monotonic() - began >= 1
    fsync_shim.heal()


def test_while_syncs_fail_nothing_is_acknowledged_and_after_that_everything(
    start: Start, fsync_shim: FsyncShim
):
    receiver = start(environment=fsync_shim.env)
    with sending(receiver.port, "before") as before:
        wait_until(lambda: before.statuses)
    assert set(before.statuses) == {200}

    fsync_shim.fail()
    assert receiver.deliver(event()).status == 503
    with sending(receiver.port, "broken") as broken:
        wait_until(lambda: broken.statuses)
    assert set(broken.statuses) == {503}
    time.sleep(1.1)
    assert receiver.ask("GET", "/readyz").status == 503

    fsync_shim.heal()
    with sending(receiver.port, "after") as after:
        wait_until(lambda: after.statuses)
    assert set(after.statuses) == {200}
    time.sleep(1.1)
    assert receiver.ask("GET", "/readyz").status == 200
    recorded = {(it.event_id, it.seq) for it in receiver.entries()}
    assert {*before.seq_of.items(), *after.seq_of.items()} <= recorded
    assert receiver.terminate() == 0


def test_a_full_disk_is_answered_503_and_loses_nothing(start: Start, small_disk: Path):
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(3 * 2**20))
    receiver = start(INBOX=str(small_disk / "inbox.db"))
    acknowledged: list[bytes] = []
    while receiver.deliver(body := of_size(20_000)).status == 200:
        acknowledged.append(body)
    assert len(acknowledged) > 2
    answer = receiver.deliver(body)
    assert answer.status == 503
    assert answer.headers["retry-after"] == "5"
    assert [it.body for it in receiver.entries()] == acknowledged

    ballast.unlink()
    assert receiver.deliver(body).status == 200
    assert [it.body for it in receiver.entries()] == [*acknowledged, body]
