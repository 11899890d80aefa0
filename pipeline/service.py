"""Keeps the one ledger of a process: opened once, followed on a thread, closed once.

The instance hangs on a module of its own in `sys.modules`, because Streamlit drops and reloads
this one when a watched file changes, and a second ledger in one process must never open.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import cast

from pipeline.facts import Keys
from pipeline.follower import Follower, Status
from pipeline.holder import announced
from pipeline.inbox import Inbox, open_inbox
from pipeline.keys import secret_key
from pipeline.ledger import Ledger
from pipeline.settings import Settings
from pipeline.tokens import Tokens
from pipeline.views import Reader

_ANCHOR = "prazo_ledger_service"


class LedgerService:
    """Reader, follower and inbox of this process's ledger."""

    def __init__(
        self, settings: Settings, *, is_keeper: bool = True, without_bodies: bool = False
    ) -> None:
        """Raises `LedgerInUse`, `LedgerRefused` or `InboxUnavailable`."""
        self.settings = settings
        self.inbox: Inbox = open_inbox(settings.inbox)
        keys = Keys(values=self.inbox.log_key, taxpayer=secret_key(settings.taxpayer_key_file))

        def open_ledger(path: Path | None) -> Ledger:
            return Ledger(
                path,
                log=self.inbox.log,
                keys=keys,
                memory=settings.ledger_memory,
                threads=settings.ledger_threads,
                without_bodies=without_bodies,
            )

        try:
            self._follower = Follower(self.inbox, settings.ledger, open_ledger, is_keeper=is_keeper)
        except BaseException:
            self.inbox.close()
            raise
        self.reader = Reader(self._follower.ledger)
        self.tokens = Tokens(None)

    @property
    def ledger(self) -> Ledger:
        return self._follower.ledger

    def status(self) -> Status:
        return self._follower.status()

    def catch_up(self) -> int:
        """Appends what the inbox holds; how many entries that were."""
        return self._follower.catch_up()

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
