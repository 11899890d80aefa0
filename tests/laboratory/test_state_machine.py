"""Any order of what people and machines do leaves log, ledger and platform as they promised.

The parts run in this process: two writers of an inbox with clocks of their own, the ledger's
service, submissions over mutual TLS to the simulated platform. On failure hypothesis prints the
steps that lead there, and the line that repeats them.
"""

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings as how
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pipeline import instants
from pipeline.continuity import backup as backups
from pipeline.continuity.kept_heads import kept, open_guarded, place
from pipeline.continuity.reconcile import reconcile
from pipeline.continuity.service import LedgerService
from pipeline.continuity.stores import audit
from pipeline.errors import InboxForked, InboxUnavailable
from pipeline.inbox import Inbox
from pipeline.inbox.clock import Clock
from pipeline.log.deliveries import delivery
from pipeline.log.ndjson import read_line
from pipeline.settings import Settings
from pipeline.submit import resume
from sandbox.server import Handle
from tests import depth
from tests.laboratory.experiment import Engine
from tests.laboratory.operations import FAULTS_OF_THE_PLATFORM
from tests.laboratory.promises import COMPARED, Promises
from tests.laboratory.world import DATABASE
from tests.ledger.older import Past, PostgresPast, SqlitePast
from tests.support.ledgers import rows
from tests.support.lines import answered
from tests.support.marketplace import Review, payload, way_to
from tests.support.postgres import PostgresServer
from tests.support.soundness import all_entries
from tests.support.stores import settings_in

WRITERS = st.sampled_from([0, 1])
ANY = st.integers(min_value=0, max_value=2**16)


class WholeSystem(RuleBasedStateMachine):
    """Everything that may be done, in any order."""

    def __init__(self, platform: Handle, past: Past, folder: Path) -> None:
        super().__init__()
        self.platform, self.past, self.folder = platform, past, folder
        named = {
            name.removeprefix("PRAZO_").lower(): value
            for name, value in way_to(platform, folder).items()
        }
        self.settings: Settings = settings_in(
            folder,
            **{**named, "inbox": past.location, "request_timeout_seconds": 1.0},
        )
        self.promises = Promises()
        self.bodies: list[bytes] = []
        self.reviews: list[Review] = []
        self.copied: int | None = None
        self.is_put_back = False
        """The inbox lacks entries that the ledger has, and nobody has reconciled it."""
        self.jumps = [0, 0]
        self.writers: list[Inbox] = []
        self.service = LedgerService(self.settings)
        self.number = 0

    @initialize()
    def begin(self) -> None:
        """Two writers, and a first review."""
        self._open_writers()
        self.deliver(0, "review")
        self.collect(0, 0)

    def _open_writers(self) -> None:
        for writer in self.writers:
            writer.close()
        self.writers = [open_guarded(self.settings) for _ in self.jumps]
        for number, writer in enumerate(self.writers):
            writer.machine = Clock(
                wall=lambda number=number: instants.now() + self.jumps[number],  # type: ignore[misc]
                is_synchronised=lambda: False,
            )
            writer.clock = writer.machine.now

    def _recorded(self, append: Callable[[], Any]) -> Any:
        """What a write comes to; None where the inbox was put back, and it is refused."""
        try:
            return append()
        except (InboxForked, InboxUnavailable):
            if not self.is_put_back:
                raise
            return None

    # --- what comes in ---

    @rule(writer=WRITERS, what=st.sampled_from(["review", "seller", "unreadable"]))
    def deliver(self, writer: int, what: str) -> None:
        self.number += 1
        if what == "review":
            seller_id = self.platform.adopt_seller()
            process_id = self.platform.require_review(
                seller_id, "ACI", requested_fields=("revenue",)
            )
            self.reviews.append(Review(process_id, seller_id, payload(process_id)))
            events = [it.body for it in self.platform.events]
            body = next(it for it in reversed(events) if process_id.encode() in it)
        elif what == "seller":
            event = {
                "id": f"evt_{self.number}",
                "type": "seller.created",
                "created_at": instants.canonical(instants.now()),
                "payload": {"object": {"id": f"sel_{self.number % 3}", "resource": "seller"}},
            }
            body = json.dumps(event).encode()
        else:
            body = b"not an event %d" % self.number
        self.bodies.append(body)
        self._deliver(writer, body)

    @rule(writer=WRITERS, which=ANY)
    def deliver_again(self, writer: int, which: int) -> None:
        self._deliver(writer, self.bodies[which % len(self.bodies)])

    @rule(writer=WRITERS, which=ANY)
    def deliver_altered(self, writer: int, which: int) -> None:
        events = [it for it in self.bodies if it.startswith(b"{")]
        self.number += 1
        said = {**json.loads(events[which % len(events)]), "altered": self.number}
        self.bodies.append(json.dumps(said).encode())
        self._deliver(writer, self.bodies[-1])

    def _deliver(self, writer: int, body: bytes) -> None:
        inbox = self.writers[writer]
        draft = delivery(body, occurred_at=inbox.clock(), recorded_by="webhook")
        self.promises.asked[body] += 1
        receipts = self._recorded(lambda: inbox.append([draft]))
        if receipts is not None:
            self.promises.acknowledge(receipts[0].entry.seq, body)

    @rule(writer=WRITERS, which=ANY)
    def collect(self, writer: int, which: int) -> None:
        review = self.reviews[which % len(self.reviews)]
        line = answered(
            instants.canonical(instants.now()),
            process_id=review.process_id,
            seller_id=review.seller_id,
            journey_id=f"journey of {review.process_id}",
        )
        draft = read_line(json.dumps(line).encode(), recorded_by="test")
        self._recorded(lambda: self.writers[writer].append([draft]))

    # --- what goes out ---

    @rule(which=ANY, fault=st.sampled_from([None, *FAULTS_OF_THE_PLATFORM]))
    def submit(self, which: int, fault: dict[str, Any] | None) -> None:
        """A new try, or the one that waits; the platform fails now and then."""
        review = self.reviews[which % len(self.reviews)]
        if fault is not None:
            self.platform.add_fault(process_id=review.process_id, **fault)
        given = {"recorded_by": "test", "patience_seconds": 0}
        self._recorded(
            lambda: resume.submit(self.settings, review.process_id, review.payload, **given)  # type: ignore[arg-type]
        )

    @rule(which=ANY)
    def retry(self, which: int) -> None:
        review = self.reviews[which % len(self.reviews)]
        given = {"recorded_by": "test", "patience_seconds": 0}
        self._recorded(
            lambda: resume.resume(self.settings, review.process_id, **given)  # type: ignore[arg-type]
        )

    # --- the ledger ---

    @rule()
    def follow(self) -> None:
        if not self.is_put_back:
            self.service.catch_up()
            return
        with pytest.raises(InboxForked):
            self.service.catch_up()
        assert not self.service.status().is_verified
        assert audit(self.service).faults != []

    @rule(is_lost=st.booleans())
    def reopen(self, is_lost: bool) -> None:
        """The ledger is opened again; its file may be gone."""
        self.service.close()
        if is_lost and not self.is_put_back:
            self.settings.ledger.unlink()
        try:
            self.service = LedgerService(self.settings)
        except InboxForked:
            assert self.is_put_back
            self.service = LedgerService(self.settings, serves_a_fork=True)
        else:
            self._came_back()

    @precondition(lambda self: not self.is_put_back)
    @rule()
    def rotate(self) -> None:
        self.service.signing.rotate(actor="ana", reason="r", recorded_by="test")

    @precondition(lambda self: not self.is_put_back)
    @rule()
    def back_up(self) -> None:
        done = backups.backup(self.settings, self.folder / "backup")
        assert not done.lacking

    # --- machines ---

    @rule(writer=WRITERS, seconds=st.sampled_from([-86_400, -3600, 0, 0, 7, 86_400]))
    def jump(self, writer: int, seconds: int) -> None:
        self.jumps[writer] = seconds * instants.SECOND

    @rule()
    def restart_writers(self) -> None:
        self.jumps = [0, 0]  # a clock that is wrong from the start is believed
        self._open_writers()

    @precondition(lambda self: not self.is_put_back)
    @rule()
    def keep_a_copy(self) -> None:
        self.past.keep("older")
        self.copied = self.writers[0].last()[0]

    @precondition(lambda self: self.copied is not None and not self.is_put_back)
    @rule()
    def put_back(self) -> None:
        """Whatever the ledger holds can be led out of; what it lacks is gone with the disk."""
        assert self.copied is not None
        self.service.catch_up()
        self.service.sign()
        self.is_put_back = self.service.ledger.size > self.copied
        self.past.put_back("older")
        self.promises.lose(self.copied)
        self.copied = None

    @precondition(lambda self: self.is_put_back)
    @rule()
    def lead_out(self) -> None:
        self.service.close()
        reconcile(self.settings, reason="it was put back", actor="ana", recorded_by="test")
        self.service = LedgerService(self.settings)
        self._came_back()

    def _came_back(self) -> None:
        if self.is_put_back:
            self.is_put_back = False
            self.promises.find_again(all_entries(self.service.inbox))
            self._open_writers()

    # --- what must be true ---

    @invariant()
    def heads_only_grow(self) -> None:
        if self.writers:
            head, file = self.service.inbox.head(), kept(place(self.settings))
            self.promises.check_heads(head.size if head else 0, file.size if file else 0)

    @invariant()
    def the_log_has_what_was_acknowledged(self) -> None:
        if self.writers and not self.is_put_back:
            self.promises.check_log(all_entries(self.service.inbox), self.service.inbox.log)

    def teardown(self) -> None:
        try:
            if not self.writers:
                return
            if self.is_put_back:
                self.lead_out()
            self.service.catch_up()
            self.service.sign()
            assert audit(self.service).faults == []
            assert self.service.status().is_verified
            entries = all_entries(self.service.inbox)
            ours = {it.process_id for it in self.reviews}
            seen = self.platform.requests
            requests = [it for it in seen if it.headers.get("idempotency-key") in ours]
            self.promises.check_puts(entries, requests)
            self.promises.check_views(
                entries, lambda view, as_of: rows(self.service.reader, view, as_of), COMPARED
            )
        finally:
            for writer in self.writers:
                writer.close()
            self.service.close()
            self.platform.clear_faults()
            shutil.rmtree(self.folder)


ENGINES: tuple[Engine, ...] = ("sqlite", "postgres") if depth.is_whole() else ("postgres",)
"""In the short run the processes of `test_experiments.py` take the other."""
RUNS, STEPS = depth.rounds(2, 40), depth.rounds(18, 50)


@pytest.mark.hypothesis
@pytest.mark.parametrize("engine", ENGINES)
def test_any_order_of_what_people_and_machines_do_keeps_every_promise(
    platform: Handle, engine: Engine, request: pytest.FixtureRequest
) -> None:
    def past(folder: Path) -> Past:
        if engine == "sqlite":
            return SqlitePast(folder / "inbox.db", folder / "copies")
        server: PostgresServer = request.getfixturevalue("postgres")
        server.execute(server.url(), f"drop database if exists {DATABASE} with (force)")
        server.new_database(DATABASE)
        return PostgresPast(server, DATABASE)

    def system() -> WholeSystem:
        folder = Path(tempfile.mkdtemp(prefix="prazo-lab-"))
        (folder / "copies").mkdir()
        return WholeSystem(platform, past(folder), folder)

    run_state_machine_as_test(
        system, settings=how(max_examples=RUNS, stateful_step_count=STEPS, print_blob=True)
    )
