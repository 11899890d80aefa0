"""Keeps the one ledger of a process: opened once, followed on a thread, closed once.

The instance hangs on a module of its own in `sys.modules`, because Streamlit drops and reloads
this one when a watched file changes, and a second ledger in one process must never open.
"""

import logging
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import cast

from pipeline.checkpoints import Signer
from pipeline.errors import LedgerInUse
from pipeline.facts import Keys
from pipeline.follower import Follower, Progress, Status
from pipeline.holder import announced
from pipeline.inbox import Inbox, SignedHead, open_inbox
from pipeline.keys import secret_key
from pipeline.ledger import Ledger
from pipeline.settings import Settings
from pipeline.tokens import Tokens
from pipeline.views import Reader

LOG = logging.getLogger(__name__)

_ANCHOR = "prazo_ledger_service"


class LedgerService:
    """Reader, follower and inbox of this process's ledger."""

    def __init__(
        self,
        settings: Settings,
        *,
        is_keeper: bool = True,
        without_bodies: bool = False,
        may_create: bool = True,
    ) -> None:
        """`is_keeper`: may leave heads in the inbox and sign them, if it has the log's key.
        `may_create`: makes an inbox where there is none; not for those who only read.

        Raises `LedgerInUse`, `LedgerRefused` or `InboxUnavailable`.
        """
        self.settings = settings
        self.inbox: Inbox = open_inbox(settings.inbox, create=may_create)

        def open_ledger(path: Path | None) -> Ledger:
            return Ledger(
                path,
                log=self.inbox.log,
                keys=self.keys,
                memory=settings.ledger_memory,
                threads=settings.ledger_threads,
                without_bodies=without_bodies,
            )

        try:
            self.keys = Keys(
                values=self.inbox.log_key, taxpayer=secret_key(settings.taxpayer_key_file)
            )
            self.signer = self._find_signer() if is_keeper else None
            self._follower = Follower(
                self.inbox,
                settings.ledger,
                open_ledger,
                is_keeper=self.signer is not None,
                signer=self.signer,
            )
        except BaseException:
            self.inbox.close()
            raise
        self.reader = Reader(self._follower.ledger)
        self.tokens = Tokens(None)

    def _find_signer(self) -> Signer | None:
        """The log's key, made on first use; None where it signed before and is not here."""
        path = self.settings.signing_key_file
        if not path.exists() and self.inbox.checkpoint() is not None:
            LOG.warning(
                "checkpoints of %s were signed with a key that is not at %s: this ledger follows"
                " and compares, but signs nothing",
                self.inbox.log,
                path,
            )
            return None
        is_new = not path.exists()
        signer = Signer(self.inbox.log, path)
        if is_new:
            LOG.info("made the signing key %s; hand its public part on: %s", path, signer.key)
        return signer

    @property
    def ledger(self) -> Ledger:
        return self._follower.ledger

    def status(self) -> Status:
        return self._follower.status()

    def catch_up(self, progress: Progress | None = None, *, seconds: float = math.inf) -> int:
        """Appends what the inbox holds, for so long at most; how many entries that were."""
        return self._follower.catch_up(progress, seconds=seconds)

    def reach(self, seq: int) -> None:
        """Returns once the ledger holds that entry of the inbox."""
        self._follower.reach(seq)

    def checkpoint(self) -> SignedHead | None:
        """The newest signed checkpoint, of this moment where this process holds the key."""
        return self._follower.checkpoint()

    def rebuild(self) -> None:
        """Makes the ledger anew from the inbox."""
        self._follower.rebuild()
        self.reader = Reader(self._follower.ledger)

    def start(self) -> None:
        self._follower.start()

    def close(self) -> None:
        self._follower.close()
        self.inbox.close()


@contextmanager
def ledger_service(settings: Settings, **options: bool) -> Iterator[LedgerService]:
    """The process's ledger, following its inbox and announced for as long as the block lasts."""
    service = LedgerService(settings, **options)
    try:
        with announced(settings.ledger, settings.dashboard_host, settings.dashboard_port) as holder:
            service.tokens = Tokens(settings.api_tokens_file, local=holder.token.encode())
            service.start()
            _anchor().service = service
            yield service
    finally:
        _anchor().service = None
        service.close()


@contextmanager
def unheld_ledger(settings: Settings) -> Iterator[LedgerService]:
    """The ledger, opened for one command that finds no holder to ask; never starts a log.

    Raises `LedgerInUse` where another process has it all the same.
    """
    try:
        service = LedgerService(settings, may_create=False)
    except LedgerInUse as error:
        raise LedgerInUse(
            error.what,
            "its holder announced no address, or does not answer there",
            "wait for it to start, or stop it",
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
