"""Killed, frozen, doubled, put back: nothing is left out, and each seller's order holds."""

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from pipeline.forward import entries, progress
from pipeline.forward.progress import Waiting
from pipeline.inbox import Inbox, open_inbox
from pipeline.inbox.store import Statement, Transaction
from tests.forward.conftest import (
    SELLERS,
    Forwarding,
    deliver,
    endpoints_file,
    has_begun,
    of_seller,
)
from tests.forward.process import Forwarder
from tests.forward.sink import OK, Reply, Sink
from tests.support.machine import killed, wait_until
from tests.support.sqlite import opened
from tests.support.stores import in_use


@pytest.fixture
def start(location: str, inbox: Inbox, market: Sink, tmp_path: Path) -> Iterator[list[Forwarder]]:
    """Processes that pass on to the market, killed at the end."""
    started: list[Forwarder] = []
    yield started
    for process in started:
        process.thaw()
        process.kill()


def begin(
    started: list[Forwarder], folder: Path, location: str, market: Sink, seconds: float = 0.5
) -> Forwarder:
    """`seconds`: for an answer, and for the lease of one that is killed; where nothing may be sent
    twice, more than a busy machine takes."""
    file = endpoints_file(folder, {"url": market.url, "timeout_seconds": seconds})
    started.append(Forwarder(folder, location, file))
    return started[-1]


def assert_in_order(market: Sink, bodies: dict[str, list[bytes]]) -> None:
    """Each delivery came; dropped repetitions aside, in its seller's order."""
    once = market.once()
    for seller in bodies:
        assert [it for it in once if it in bodies[seller]] == bodies[seller]


@pytest.mark.long
def test_a_forwarder_that_is_killed_again_and_again_leaves_nothing_out(
    location: str, inbox: Inbox, market: Sink, tmp_path: Path, start: list[Forwarder]
) -> None:
    chance = random.Random(16)
    market.answer = lambda received: Reply(503) if chance.random() < 0.1 else OK
    bodies: dict[str, list[bytes]] = {seller: [] for seller in SELLERS}
    begin(start, tmp_path, location, market)
    has_begun(inbox)
    for _ in range(3):
        count = len(market.all)
        for _ in range(8):
            for seller in SELLERS:
                bodies[seller].append(of_seller(seller))
                deliver(inbox, bodies[seller][-1])
        some = count + chance.randrange(24)
        wait_until(lambda some=some: len(market.all) > some)  # type: ignore[misc]
        start[-1].kill()
        begin(start, tmp_path, location, market)
    wait_until(lambda: len(market.once()) == 72, seconds=150)
    assert_in_order(market, bodies)
    assert len({it.id for it in market.all}) == 72
    assert start[-1].terminate() == 0
    assert progress.standings(inbox)["to_1"].position >= inbox.find(seller_id="sel_3")[-1].seq


def test_one_that_ends_by_a_signal_keeps_all_that_it_did(
    location: str, inbox: Inbox, market: Sink, tmp_path: Path, start: list[Forwarder]
) -> None:
    first = begin(start, tmp_path, location, market, 10)
    has_begun(inbox)
    deliver(inbox, *(of_seller(f"sel_{it}") for it in range(50)))
    wait_until(lambda: len(market.taken) > 0)
    assert first.terminate() == 0
    begin(start, tmp_path, location, market, 10)
    wait_until(lambda: len(market.taken) >= 50)
    deliver(inbox, last := of_seller("sel_1"))
    wait_until(lambda: last in market.bodies)
    assert len(market.all) == 51, "nothing was sent twice"


def test_of_two_forwarders_one_passes_on_and_the_other_goes_on_when_it_is_gone(
    location: str, inbox: Inbox, market: Sink, tmp_path: Path, start: list[Forwarder]
) -> None:
    """The first one is frozen, and wakes up when the second has passed on what came meanwhile."""
    first = begin(start, tmp_path, location, market, 3)
    has_begun(inbox)
    begin(start, tmp_path, location, market, 3)
    bodies = {seller: [of_seller(seller) for _ in range(10)] for seller in SELLERS}
    for rank in range(10):
        deliver(inbox, *(bodies[seller][rank] for seller in SELLERS))
    wait_until(lambda: len(market.taken) >= 30)
    assert len(market.all) == 30
    first.freeze()
    more = {seller: [of_seller(seller) for _ in range(10)] for seller in SELLERS}
    for rank in range(10):
        deliver(inbox, *(more[seller][rank] for seller in SELLERS))
    wait_until(lambda: len(market.once()) >= 60)
    first.thaw()
    time.sleep(1)
    deliver(inbox, *(last := [of_seller(it) for it in SELLERS]))
    wait_until(lambda: len(market.once()) >= 63)
    whole = {it: [*bodies[it], *more[it], last[n]] for n, it in enumerate(SELLERS)}
    assert_in_order(market, whole)
    assert market.bodies.count(last[0]) == 1, "the one that was frozen sends nothing more"


def test_a_save_that_was_killed_is_all_there_or_not_at_all(inbox: Inbox, location: str) -> None:
    """A dead letter, its entry in the log and the seller's next delivery are one commit."""
    [first, _] = deliver(inbox, of_seller("sel_1"), of_seller("sel_1"))
    progress.begin(inbox, "to_1", 0, 0, entries.begun("to_1", 0, 0))
    row = progress.standings(inbox)["to_1"]
    stuck = Waiting("seller sel_1", 1, 9, 5, 7, "status 500")
    assert progress.save(inbox, "to_1", row, {stuck.lane: stuck}, {}, [])
    lanes = {
        stuck.lane: Waiting(stuck.lane, 2, 0, None, 0, None),
        "entry 1": stuck._replace(lane="entry 1", dead_at=9),
    }
    draft = entries.died("to_1", stuck, first, 9)

    def save_until(at: int) -> None:
        """Killed before the n-th statement, or before the commit, which is the fourth."""
        with closing(open_inbox(location)) as mine:
            writing = mine._writing

            @contextmanager
            def dying() -> Iterator[Transaction]:
                with writing() as transaction:
                    execute, asked = transaction.execute, iter(range(1, 100))

                    def instead(statement: Statement) -> int:
                        if next(asked) == at:
                            os.kill(os.getpid(), signal.SIGKILL)
                        return execute(statement)

                    transaction.execute = instead  # type: ignore[method-assign]
                    yield transaction
                    if next(asked) == at:
                        os.kill(os.getpid(), signal.SIGKILL)

            mine._writing = dying  # type: ignore[method-assign]
            progress.save(mine, "to_1", row, lanes, {}, [draft])
        os.kill(os.getpid(), signal.SIGKILL)

    for at in (1, 2, 3, 4):
        killed(lambda at=at: save_until(at))  # type: ignore[misc]
        assert progress.waiting(inbox, "to_1") == [stuck]
        assert progress.dead(inbox, "to_1") == []
    killed(lambda: save_until(99))
    assert [it.seq for it in progress.waiting(inbox, "to_1")] == [2]
    assert [it.seq for it in progress.dead(inbox, "to_1")] == [1]
    assert len([it for it in inbox.find(kind="forwarding") if b'"dead"' in (it.body or b"")]) == 1


# --- an older copy ---------------------------------------------------------------------------


def test_an_inbox_that_was_put_back_is_noticed_and_what_it_lacks_is_not_skipped(
    inbox: Inbox, market: Sink, forwarding: Forwarding, location: str, tmp_path: Path
) -> None:
    """The row says an entry that the log no longer has: other entries stand under its numbers."""
    if location.startswith("postgresql"):
        pytest.skip("the same code, over rows; a file is put back more easily")
    old = tmp_path / "old.db"
    with forwarding({"url": market.url}):
        has_begun(inbox)
        deliver(inbox, of_seller("sel_1"))
        wait_until(lambda: len(market.taken) == 1)
    inbox.close()
    shutil.copy(location, old)
    with closing(open_inbox(location)) as whole, forwarding({"url": market.url}):
        deliver(whole, *(of_seller("sel_1") for _ in range(5)))
        wait_until(lambda: len(market.taken) == 6)
    rows = Path(f"{location}.rows")
    shutil.move(location, rows)
    shutil.copy(old, location)
    in_use(location)
    with closing(open_inbox(location)) as lacking:
        new = [of_seller("sel_1") for _ in range(5)]
        deliver(lacking, *new)
        # The tables come from the newer copy, as after a restore of parts.
        [newer] = open_inbox(rows).query("select position, leaf from forward_endpoints")
        lacking.execute("update forward_endpoints set position = $1, leaf = $2", *newer)
        with forwarding({"url": market.url}):
            wait_until(lambda: set(new) <= set(market.bodies))
        said = [it.body or b"" for it in lacking.find(kind="forwarding")]
    assert any(b'"step":"put_back"' in it for it in said)
    assert market.bodies[-5:] == new


@pytest.mark.long
def test_a_file_that_is_put_back_under_a_forwarder_that_runs_is_opened_again(
    tmp_path: Path, market: Sink, start: list[Forwarder], location: str, inbox: Inbox
) -> None:
    if location.startswith("postgresql"):
        pytest.skip("it is about a file")
    begin(start, tmp_path, location, market)
    has_begun(inbox)
    deliver(inbox, first := of_seller("sel_1"))
    wait_until(lambda: progress.standings(inbox)["to_1"].position >= 2)
    with closing(opened(location)) as whole:
        whole.execute("vacuum into ?", (str(tmp_path / "old.db"),))
    deliver(inbox, lost := of_seller("sel_1"))
    wait_until(lambda: market.once() == [first, lost])
    inbox.close()
    for suffix in ("-wal", "-shm"):
        Path(f"{location}{suffix}").unlink(missing_ok=True)
    shutil.move(tmp_path / "old.db", location)
    with closing(open_inbox(location)) as older:
        deliver(older, new := of_seller("sel_1"))
    in_use(location)
    wait_until(lambda: market.once() == [first, lost, new])


def test_where_the_rows_are_lost_passing_on_goes_on_from_what_the_log_says(
    inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    """As after a restore: a backup has the log alone."""
    with forwarding({"url": market.url}):
        has_begun(inbox)
        deliver(inbox, first := of_seller("sel_1"))
        wait_until(lambda: len(market.taken) == 1)
    inbox.execute("delete from forward_endpoints")
    deliver(inbox, second := of_seller("sel_1"))
    with forwarding({"url": market.url}):
        wait_until(lambda: len(market.taken) == 3)
    assert market.once() == [first, second]


def test_what_a_reconciliation_recorded_again_says_nothing_of_the_entries_of_today(
    inbox: Inbox,
) -> None:
    """It was recorded of entries that had other numbers."""
    inbox.append([entries.begun("to_1", 3, 0), entries.begun("to_2", 7, 0)])
    again = entries.begun("to_1", 900, 0)._replace(particulars={"was_seq": 901})
    inbox.append([again])
    assert progress.settled_in_log(inbox, "to_1") == 3
    assert progress.settled_in_log(inbox, "to_2") == 7
    assert progress.settled_in_log(inbox, "to_3") is None


def test_while_it_runs_the_log_before_its_position_is_held_against_what_was_read(
    inbox: Inbox, market: Sink, forwarding: Forwarding
) -> None:
    with forwarding({"url": market.url}):
        has_begun(inbox)
        deliver(inbox, first := of_seller("sel_1"))
        wait_until(lambda: len(market.taken) == 1)
        inbox.execute(
            "update forward_endpoints set generation = generation + 1, position = 0, leaf = null"
        )
        wait_until(lambda: len(market.taken) == 2)
    assert market.bodies == [first, first]
    assert len({it.id for it in market.taken}) == 1
