"""A run: operations and faults drawn from a seed; what was promised is checked after each."""

import json
import random
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet

from pipeline import instants
from pipeline.continuity.kept_heads import kept
from pipeline.errors import InboxUnavailable
from pipeline.log.entries import Entry
from sandbox.server import Handle
from tests.laboratory import faults as breaking
from tests.laboratory import operations
from tests.laboratory.faults import Fault
from tests.laboratory.journal import Broken, Journal, Operation
from tests.laboratory.promises import COMPARED, Promises
from tests.laboratory.world import PATIENCE_SECONDS, Done, Part, World, world
from tests.support import oracle
from tests.support.marketplace import Review
from tests.support.postgres import PostgresServer
from tests.support.soundness import all_entries

Engine = Literal["sqlite", "postgres"]

MOST_FAULTS = 2
CHANCE_OF_A_FAULT = 0.3
CHANCE_OF_A_COMMAND = 0.12
BETWEEN_AUDITS = 25
"""Operations, after which everything is healed and looked at."""


class Experiment:
    """One run over one world."""

    def __init__(self, world: World, seed: int, engine: Engine, *, is_long: bool) -> None:
        self.world = world
        self.seed, self.engine, self.is_long = seed, engine, is_long
        self.drawn = random.Random(seed)
        self.journal = Journal(world.folder / "journal.txt")
        self.promises = Promises()
        self.bodies: list[bytes] = []
        """Everything that was ever delivered, or tried to be."""
        self.reviews: list[Review] = []
        self.heard: set[str] = set()
        self.answered: set[str] = set()
        """Processes whose event, and whose seller's answer, was acknowledged."""
        self.by_gateway: set[str] = set()
        self.waiting: set[str] = set()
        """Processes of which a command said that a retry waits."""
        self.copied: int | None = None
        """How many entries the copy of the inbox has, if there is one."""
        self._faults: list[Fault] = []
        self._is_settled = False
        self._number = 0

    # --- the course of a run ---

    def run(self, steps: int, seconds: float = float("inf")) -> None:
        """So many steps, or for so long. `AssertionError` with the journal where a promise is not
        kept."""
        until = time.monotonic() + seconds
        try:
            self.world.start()
            self._is_settled = True
            for step in range(1, steps + 1):
                if time.monotonic() > until:
                    break
                self._step()
                if step % BETWEEN_AUDITS == 0:
                    self._do("audit", lambda _: self.audit())
            self._do("audit", lambda _: self.audit(is_last=True))
            self._do("end", lambda _: self.world.end())
        except BaseException as error:
            raise AssertionError(
                f"{error}\n\n{self.journal}\n\nto repeat it: PRAZO_LAB_SEED={self.seed}"
                f" python -m tests.laboratory --engine {self.engine}"
                f"{' --long' if self.is_long else ''} --steps {steps}"
            ) from error

    def _step(self) -> None:
        for fault in [it for it in self._faults if it.left <= 0]:
            self._heal(fault)
        if len(self._faults) < MOST_FAULTS and self.drawn.random() < CHANCE_OF_A_FAULT:
            self._break_something()
        is_rare = self.is_long and self.drawn.random() < CHANCE_OF_A_COMMAND
        choice = operations.RARE if is_rare else operations.EVERYDAY
        [operate] = self.drawn.choices([it for it, _ in choice], [weight for _, weight in choice])
        self._do(operate.__name__, lambda operation: operate(self, operation))
        for fault in self._faults:
            fault.left -= 1

    def _do(self, what: str, work: Callable[[Operation], None]) -> None:
        under = ", ".join(map(str, self._faults)) or ("" if self.is_calm else "recovering")
        with self.journal.operation(what, under) as operation:
            work(operation)
            self._check_heads()

    def _break_something(self) -> None:
        possible = [it for it in breaking.KINDS if it.is_possible(self.world, self.is_long)]
        fault = self.drawn.choice(possible)(self.world, self.drawn, is_long=self.is_long)
        if fault.of in [it.of for it in self._faults]:
            return
        self.begin_unrest()
        self._faults.append(fault)
        self._do(str(fault), lambda _: fault.begin())

    def _heal(self, fault: Fault) -> None:
        self._faults.remove(fault)
        fault.heal()

    # --- what operations ask ---

    @property
    def is_calm(self) -> bool:
        """Whether nothing is broken, and the system has shown that it is well."""
        return self._is_settled and not self._faults

    def begin_unrest(self) -> None:
        """From now on the system need not be well, until it has settled."""
        self._is_settled = False

    def calm(self, *, but: Sequence[Part] = ()) -> None:
        """Heals everything, and waits until the system is well; `but`: parts that may rest."""
        for fault in [*self._faults]:
            self._heal(fault)
        self.world.settle(but)
        self._is_settled = True

    def a_receiver(self) -> Part:
        """One of them."""
        return self.drawn.choice(self.world.receivers)

    def next_number(self) -> int:
        """Another one each time."""
        self._number += 1
        return self._number

    def now(self) -> str:
        """By this machine's clock, which nobody sets."""
        return instants.canonical(instants.now())

    def seller_event(self) -> bytes:
        """An event that was not sent before, of one of few sellers."""
        number = self.next_number()
        what = self.drawn.choice(["created", "enabled", "denied", "updated"])
        event = {
            "id": f"evt_{self.seed}_{number}",
            "type": f"seller.{what}",
            "created_at": self.now(),
            "payload": {"object": {"id": f"sel_{number % 5}", "resource": "seller"}},
        }
        return json.dumps(event).encode()

    def unreadable(self) -> bytes:
        """A delivery for quarantine that was not sent before."""
        return b"not an event %d of %d" % (self.next_number(), self.seed)

    def command(
        self,
        operation: Operation,
        codes: set[int],
        *arguments: str,
        excused: bool = True,
        **environment: str,
    ) -> Done:
        """A command that ends with one of these codes. While something is broken it may say that it
        could not, unless nothing excuses it."""
        done = self.world.command(*arguments, **environment)
        operation.note(**{arguments[0]: done.code})
        if "Traceback" in done.out:
            raise Broken(f"prazo {arguments[0]}: {done.out[-3000:]}")
        may_fail = excused and not self.is_calm  # or take longer than anybody waits
        if done.code not in codes and not (may_fail and done.code in (None, 1, 2, 3)):
            raise Broken(f"prazo {' '.join(arguments)} ended with {done.code}: {done.out[-3000:]}")
        return done

    def wait_until(self, what: str, is_so: Callable[[], bool]) -> None:
        """Waits for what has to come about by itself."""
        until = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            if time.monotonic() > until:
                raise Broken(f"not so after {PATIENCE_SECONDS:g} s: {what}")
            time.sleep(0.05)

    # --- what is checked ---

    @property
    def _can_read(self) -> bool:
        return not any(it.hides_the_inbox for it in self._faults)

    def check_on_disk(self, seq: int, body: bytes) -> None:
        """An entry that was acknowledged a moment ago is in the inbox, whatever it may be like."""
        if not self._can_read:
            return
        with self.world.inbox() as inbox:
            found = inbox.read(seq - 1, 1)
        if not found or found[0].body != body:
            raise Broken(f"entry {seq} was answered 200 and is not in the inbox: {found}")

    def _check_heads(self) -> None:
        file = kept(Path(self.world.machines[0].environment["PRAZO_LEDGER"] + ".head"))
        if not self._can_read:
            return
        try:
            with self.world.inbox() as inbox:
                head = inbox.head()
        except InboxUnavailable:  # a server that recovers
            return
        self.promises.check_heads(head.size if head else 0, file.size if file else 0)

    def entries(self) -> list[Entry]:
        """The whole log, as it is on disk."""
        with self.world.inbox() as inbox:
            return all_entries(inbox)

    def audit(self, *, is_last: bool = False) -> None:
        """Heals everything, and holds log, platform and views against what was promised."""
        self.calm()
        for process_id in sorted(self.waiting - self.by_gateway) if is_last else ():
            self.wait_until(f"{process_id} is sent again", partial(self._is_sent, process_id))
        if is_last:
            self.calm()
        with self.world.inbox() as inbox:
            log = inbox.log
        ours = {it.process_id for it in self.reviews}
        # Before the log: a start comes before its PUT.
        seen = self.world.platform.requests
        requests = [it for it in seen if it.headers.get("idempotency-key") in ours]
        entries = self.entries()
        self.promises.check_log(entries, log)
        self.promises.check_puts(entries, requests)
        self.promises.check_accepted(entries)
        if is_last:
            self._check_views(entries)
            if (done := self.world.command("verify")).code != 0:
                raise Broken(f"prazo verify ends with {done.code}: {done.out}")
        for part in self.world.parts:
            if "Traceback" in (said := part.log.read_text(errors="replace")):
                raise Broken(f"{part.name} did not expect an error: {said[-4000:]}")

    def _is_sent(self, process_id: str) -> bool:
        status: str = self.world.platform.process(process_id)["status"]
        return status == "FINISHED"

    def _check_views(self, entries: Sequence[Entry]) -> None:
        """Of the log as it is now; nothing may come in meanwhile, so retries have ended."""
        self.wait_until("the ledger has them", lambda: self._ledger_has(entries[-1].seq))
        views = sorted(oracle.VIEWS) if self.is_long else COMPARED
        self.promises.check_views(entries, self._rows, views)

    def _ledger_has(self, seq: int) -> bool:
        status = self.world.status()
        return status is not None and status["last_seq"] >= seq

    def _rows(self, view: str, as_of: datetime) -> list[dict[str, Any]]:
        path = f"/api/views/{view}?as_of={as_of.isoformat()}Z&format=parquet"
        reply = self.world.ask(self.world.holder, "GET", path)
        if reply.status != 200:
            raise Broken(f"{path} is answered {reply.status}: {reply.body.decode()}")
        rows = pyarrow.parquet.read_table(BytesIO(reply.body)).to_pylist()
        return [{name: _naive(value) for name, value in row.items()} for row in rows]


def _naive(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def experiment(
    seed: int,
    engine: Engine,
    folder: Path,
    platform: Handle,
    server: PostgresServer | None,
    *,
    steps: int,
    seconds: float = float("inf"),
    is_long: bool = False,
    keep: Path | None = None,
) -> Journal:
    """Runs one, from an empty folder on; its journal. `keep`: where the stores of a run that failed
    are copied to."""
    with ExitStack() as stack:
        opened = stack.enter_context(world(folder, platform, server, stack))
        lab = Experiment(opened, seed, engine, is_long=is_long)
        try:
            lab.run(steps, seconds)
        except AssertionError:
            if keep is not None:
                opened.close()
                shutil.copytree(folder, keep, dirs_exist_ok=True)
            raise
        return lab.journal
