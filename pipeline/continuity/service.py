"""Keeps the one ledger of a process: opened once, followed on a thread, closed once.

The instance hangs on a module of its own in `sys.modules`, because Streamlit drops and reloads
this one when a watched file changes, and a second ledger in one process must never open.
"""

import functools
import logging
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, cast

from pipeline.continuity import drafts
from pipeline.continuity.follower import Follower, OnProgress, Status
from pipeline.continuity.kept_heads import Guard, open_shared, place
from pipeline.continuity.reading import always
from pipeline.continuity.recovery import Abandoned, Opened, Recovery
from pipeline.errors import (
    CallerError,
    InboxForked,
    LedgerBehind,
    LedgerInUse,
    LedgerWithoutBodies,
)
from pipeline.files.temporary import all_left
from pipeline.http.holder import announced, once_free
from pipeline.http.tokens import Tokens
from pipeline.inbox import Inbox, SignedHead, artifacts, open_inbox
from pipeline.inbox.erased import newest_erasure
from pipeline.inbox.parts import LEDGER, present
from pipeline.inbox.signing_keys import SigningKeys
from pipeline.keys import secret_key
from pipeline.ledger.facts import Keys
from pipeline.ledger.store import Ledger
from pipeline.ledger.views.installed import installed_later
from pipeline.ledger.views.reader import Reader
from pipeline.log.checkpoints import Signer
from pipeline.places import written
from pipeline.settings import Settings

if TYPE_CHECKING:
    from pipeline.alert_rules import AlertsFile

LOG = logging.getLogger(__name__)

_ANCHOR = "prazo_ledger_service"


class SignedCheckpoint(NamedTuple):
    """A checkpoint, the verification key that signed it, and the keys that signed before."""

    note: str
    key: str
    earlier_keys: list[str]


class Faults(NamedTuple):
    """What a verification found."""

    found_at: int  # microseconds
    number: int


class LedgerService:
    """The reader, follower and inbox of this process's ledger, and looks for lacking artifacts."""

    def __init__(
        self,
        settings: Settings,
        *,
        is_keeper: bool = True,
        without_bodies: bool = False,
        may_create: bool = True,
        serves_a_fork: bool = False,
        may_go_on: Callable[[], bool] = always,
    ) -> None:
        """`is_keeper`: may leave heads in the inbox and sign them, if it has the log's key.
        `without_bodies`: a ledger of commitments and masked facts only.
        `may_create`: makes an inbox where there is none; false for those who only read.
        `serves_a_fork`: opens the ledger even where its inbox is an older copy that was put back.
        The ledger says so, and neither follows nor signs until the inbox has again what it lacks.
        Without it, that raises `InboxForked`.
        `may_go_on`: asked before each batch of a ledger that has to be made first.

        Raises `LedgerInUse`, `LedgerRefused`, `InboxUnavailable`, or `LedgerBehind` where it may
        not go on.
        """
        self.settings, self.is_keeper = settings, is_keeper
        if settings.alerts_file is not None:
            self.alert_rules.get()  # a fault of it is said before anything is opened
        self._prove = Guard(settings)
        self.inbox: Inbox = open_shared(settings, create=may_create)

        def open_ledger(path: Path | None, erasure: int) -> Ledger:
            return Ledger(
                path,
                log=self.inbox.log,
                keys=self.keys,
                memory=settings.ledger_memory,
                threads=settings.ledger_threads,
                without_bodies=without_bodies,
                erased_to=erasure,
            )

        try:
            self.keys = Keys(
                values=self.inbox.log_key, taxpayer=secret_key(settings.taxpayer_key_file)
            )
            self.signing = SigningKeys(
                self.inbox, settings.signing_key_file, keeper_url=settings.keeper_url
            )
            if is_keeper and self.signing.take_up() is None:
                LOG.warning("this ledger follows and compares. %s", self.signing.missing())
            self.recovery = Recovery(
                self.inbox,
                settings.ledger,
                open_ledger,
                self.signing.known,
                is_keeper=lambda key: is_keeper and key is not None and self.signing.holds(key),
                head_file=place(settings),
            )
            opened = self.recovery.open(may_go_on=may_go_on)
            if is_keeper and self.signer is None:
                self.signing.take_up()  # its key may have come into force in what was given back
            if opened.fork is not None and not serves_a_fork:
                opened.ledger.close()
                raise opened.fork
            self._put_to_use(opened)
            self.inbox.guard(self._guard)
        except BaseException:
            self.inbox.close()
            raise
        self.tokens = Tokens(None)
        self.faults_found: Faults | None = None
        """By the last verification in this process, which read the stores again: what follows the
        inbox adds to them, and sees no damage in what it does not read."""
        self.artifacts = artifacts.looks(settings, lambda: open_inbox(settings.inbox, create=False))

    def _put_to_use(self, opened: Opened) -> None:
        self._follower = Follower(
            self.inbox,
            opened.ledger,
            self.signing if self.is_keeper else None,
            is_verified=opened.is_verified,
            recovered=opened.recovered,
            head_file=place(self.settings),
            fork=opened.fork,
            recover=self.recovery.open,
            prove=self._prove,
        )
        self.reader = Reader(
            opened.ledger,
            await_seller_hours=self.settings.await_seller_hours,
            alert_rules=self.alert_rules.for_views if self.settings.alerts_file else None,
            now=self.now,
        )

    @functools.cached_property
    def alert_rules(self) -> "AlertsFile":
        """What is alarming: what the file of alerts says, or the defaults without one."""
        from pipeline.alert_rules import AlertsFile  # models that most commands do not need

        return AlertsFile(self.settings.alerts_file)

    def _guard(self, inbox: Inbox) -> None:
        """Raises `InboxForked` where the follower does not follow the inbox, or the inbox cannot
        prove itself: nothing may be written to it then."""
        if self._follower.fork is not None:
            raise InboxForked(*self._follower.fork.args)
        self._prove(inbox)

    @property
    def signer(self) -> Signer | None:
        """What signs with the log's key; None where this process is not its keeper."""
        return self.signing.signer

    @property
    def ledger(self) -> Ledger:
        """The ledger that is served."""
        return self._follower.ledger

    def now(self) -> int:
        """The instant that counts as now: the believed time, by which entries are recorded, in
        microseconds. It asks the inbox nothing."""
        return self.inbox.clock()

    def status(self) -> Status:
        """How far the ledger is, and what is wrong with it."""
        return self._follower.status()

    def catch_up(self, on_progress: OnProgress | None = None, *, seconds: float = math.inf) -> int:
        """Appends what the inbox holds, for so many `seconds` at most. How many entries it
        appended."""
        return self._follower.catch_up(on_progress, seconds=seconds)

    @property
    def holds_erased(self) -> bool:
        """Whether the ledger was made before the newest erasure, so that it still holds what was
        erased."""
        return newest_erasure(self.inbox) > self.ledger.erased_to

    def require_unerased(self) -> None:
        """Raises `LedgerBehind` while the ledger holds what was erased. Until it is made again,
        nobody is shown personal values or bodies."""
        if self.holds_erased:
            raise LedgerBehind(
                "Nothing personal is shown or exported now",
                "somebody was forgotten, and the ledger is made again without them",
                "try again once that is done: within ten minutes, and as long as `prazo rebuild`"
                " takes",
            )

    def check_continuity(self) -> None:
        """Raises `InboxForked` where the inbox lacks the ledger's newest entry."""
        self._follower.check_continuity()

    def reach(self, seq: int) -> None:
        """Returns once the ledger holds that entry of the inbox."""
        self._follower.reach(seq)

    def hurry(self) -> None:
        """Has the thread that follows take the entries that it would gather, at once."""
        self._follower.hurry()

    def checkpoint(self) -> SignedHead | None:
        """The newest signed checkpoint. Where this process holds the key, it signs one now."""
        return self._follower.checkpoint()

    def signed_checkpoint(self) -> SignedCheckpoint:
        """The newest signed checkpoint with the log's keys; `CallerError` while there is none,
        `InboxForked` where nothing is signed any more."""
        signed, keys = self.checkpoint(), self.signing.known()
        if self.fork is not None:
            raise InboxForked(*self.fork.args)
        if signed is None or keys is None:
            raise CallerError(
                "Nothing has been signed yet", "the log is empty, or its signing key is not here"
            )
        signer = keys.at(signed.size)
        earlier = [str(it.key) for it in keys][: keys.number(signer) - 1]
        return SignedCheckpoint(signed.note, str(signer), earlier)

    @property
    def fork(self) -> InboxForked | None:
        """Why the inbox is not followed: it lacks what was recorded in it. None if it is."""
        return self._follower.fork

    def rebuild(self, why: str = "as asked", *, abandoned: Abandoned = lambda _: False) -> None:
        """Builds the ledger again from the inbox, whatever the present one is like. `abandoned`: as
        in `Recovery.rebuild`."""
        self._follower.close()
        self._put_to_use(self.recovery.rebuild(why, abandoned=abandoned))

    def sign(self) -> None:
        """Leaves the head of this moment in the inbox and outside of it, and signs a checkpoint."""
        self._follower.sign()

    def start(self) -> None:
        """Follows on a thread of its own until `close`."""
        self._follower.start()

    def close(self) -> None:
        """Closes the ledger and the inbox."""
        self._follower.close()
        self.inbox.close()


@contextmanager
def ledger_service(settings: Settings, **options: bool) -> Iterator[LedgerService]:
    """The process's ledger, following its inbox and announced for as long as the block lasts."""
    service = once_free(
        lambda: LedgerService(settings, serves_a_fork=True, may_go_on=always, **options)
    )
    try:
        with announced(settings.ledger, settings.dashboard_host, settings.dashboard_port) as holder:
            service.tokens = Tokens.of(settings, local=holder.token.encode())
            drafts.remove_left(settings.ledger)
            all_left(written(settings), is_removed=True)
            service.start()
            _anchor().service = service
            is_said = present(service.inbox, LEDGER) if service.is_keeper else nullcontext()
            with is_said, installed_later(service.ledger):
                yield service
    finally:
        _anchor().service = None
        service.close()


def as_made(
    settings: Settings, *, may_go_on: Callable[[], bool] = always, **options: bool
) -> LedgerService:
    """Opens the ledger with bodies or without, as it was made. `options` are those of
    `LedgerService`. A ledger without bodies is never a keeper's."""
    try:
        return LedgerService(settings, may_go_on=may_go_on, **options)
    except LedgerWithoutBodies:
        analysts = {"is_keeper": False, "without_bodies": True}
        return LedgerService(settings, may_go_on=may_go_on, **options | analysts)


@contextmanager
def unheld_ledger(
    settings: Settings, *, is_keeper: bool = True, may_go_on: Callable[[], bool] = always
) -> Iterator[LedgerService]:
    """The ledger, opened for one command that finds no holder to ask; never starts a log.
    `is_keeper`: false for a command that only looks, and writes nothing to the inbox. `may_go_on`:
    as for `LedgerService`.

    Raises `LedgerInUse` where another process has it all the same.
    """
    try:
        service = as_made(settings, may_create=False, is_keeper=is_keeper, may_go_on=may_go_on)
    except LedgerInUse as error:
        raise LedgerInUse(
            error.what,
            "another process goes on holding it, and announced no address or does not answer there",
            "wait for that process to end, or stop it",
        ) from None
    try:
        yield service
    finally:
        service.close()


def current() -> LedgerService:
    """The ledger that this process holds; RuntimeError outside of `ledger_service`."""
    service = _anchor().service
    if service is None:
        raise RuntimeError("no ledger is open in this process")
    return service


class _Anchor(ModuleType):
    """A module object that nothing reloads."""

    service: LedgerService | None = None


def _anchor() -> _Anchor:
    anchor = sys.modules.setdefault(_ANCHOR, _Anchor(_ANCHOR))
    return cast(_Anchor, anchor)
