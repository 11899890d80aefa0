"""Sends what one press asked for to many sellers on a thread of its own, and says how far it came.

Whoever pressed may go on or leave. A process that ends sends to no further seller; of what was on
its way then, the log says so by itself (`pipeline/notices/sending.py`).
"""

import hashlib
import logging
import secrets
import threading
from collections.abc import Sequence, Set
from typing import Final

from pipeline import instants
from pipeline.contract.body import JsonValue, canonical_json
from pipeline.errors import PrazoError
from pipeline.inbox import Inbox
from pipeline.log.entries import content_of
from pipeline.log.kinds.seller_notice import ONCE, SELLER_NOTICE
from pipeline.notices.sending import Done, Order, Sending
from pipeline.settings import Settings

LOG = logging.getLogger(__name__)

KEPT: Final = 20
"""Of the latest of a process."""

GOES_ON: Final = instants.DAY
"""For so long the same press goes on with one that broke off."""
_LOCK: Final = threading.Lock()
_BATCHES: "list[Batch]" = []


class Batch:
    """The sellers whom one press asked, as they were when it was pressed. Safe from any thread."""

    def __init__(self, log: str, seller_ids: Sequence[str], order: Order, began_at: int) -> None:
        """`began_at`: in microseconds."""
        self.log, self.order, self.began_at = log, order, began_at
        self.seller_ids = tuple(dict.fromkeys(seller_ids))
        self.error: PrazoError | None = None
        """Why it stopped before its end."""
        self._done: list[Done] = []
        self._over = threading.Event()

    @property
    def done(self) -> list[Done]:
        """What became of those that were taken up so far, in the order in which they ended."""
        return self._done[:]

    @property
    def is_over(self) -> bool:
        """Whether nothing more is sent."""
        return self._over.is_set()

    def wait(self, seconds: float) -> None:
        """Waits for its end, at most for so long."""
        self._over.wait(seconds)

    def run(self, sending: Sending) -> None:
        """Sends to each seller."""
        try:
            sending.send(self.seller_ids, self.order, self._done.append)
        except PrazoError as error:
            self.error = error
        except Exception as error:  # nobody is to take what broke off for done
            LOG.exception("sending to sellers broke off")
            self.error = PrazoError(
                "The sending broke off",
                f"the program failed: {type(error).__name__}",
                "send again: whoever just got a message is left out",
            )
        finally:
            self._over.set()


def start(settings: Settings, inbox: Inbox, seller_ids: Sequence[str], order: Order) -> Batch:
    """Begins to send. Of the same list that an earlier press began, and that broke off, only the
    others get the message. Raises as `Sending.check` does, and then nothing is sent; and
    `InboxUnavailable`."""
    sending = Sending(settings, inbox)
    sending.check(order)
    once = _of_list(sending, inbox, frozenset(seller_ids), order)
    batch = Batch(inbox.log, seller_ids, order._replace(once=once), inbox.now())
    with _LOCK:
        _BATCHES.insert(0, batch)
        del _BATCHES[KEPT:]
    threading.Thread(target=batch.run, args=(sending,), name="asking", daemon=True).start()
    return batch


def _of_list(sending: Sending, inbox: Inbox, seller_ids: Set[str], order: Order) -> str:
    """The id of a list of sellers who are to get the same: the one under which an earlier press
    wrote to some of them not long ago and not to all, as where the program ended; else another."""
    same: list[JsonValue] = [order.channel, order.language, order.template, *sorted(seller_ids)]
    begins = f"lst_{hashlib.sha256(canonical_json(same)).hexdigest()[:16]}_"
    since = inbox.now() - GOES_ON
    ended = {it.order.once for it in _BATCHES[:] if it.is_over and it.error is None}
    taken_up: dict[str, set[str]] = {}
    sent = set[str]()  # the lists of which anybody may have got something
    for seller_id in seller_ids:
        for entry in inbox.find(seller_id=seller_id, kind=SELLER_NOTICE):
            once = str(content_of(entry).get(ONCE))
            if entry.recorded_at > since and once.startswith(begins) and once not in ended:
                taken_up.setdefault(once, set()).add(seller_id)
                if not sending.results.has_failed(entry):
                    sent.add(once)
    left_off = (
        once
        for once in sorted(sent)
        if any(_can_get_it(sending, it, order) for it in seller_ids - taken_up[once])
    )
    return next(left_off, f"{begins}{secrets.token_hex(4)}")


def _can_get_it(sending: Sending, seller_id: str, order: Order) -> bool:
    """Whether a press would write to a seller, of whom no entry says that they were left out."""
    seller = sending.sellers.look(seller_id)
    return seller.kept_back is None and sending.refusal(seller, order.channel) is None


def latest(inbox: Inbox, actor: str) -> Batch | None:
    """The latest that a person began in this process."""
    with _LOCK:
        found = (it for it in _BATCHES if (it.log, it.order.actor) == (inbox.log, actor))
        return next(found, None)
