"""Draws a sample of the processes of a period, by a rule that leaves nobody a choice.

A signed checkpoint fixes which processes there are. Their order is that of hashes over its root, a
number and each process's name: whoever gives the number after having the checkpoint knows that
neither was chosen for the other. `pipeline/verify.py` draws again, from the leaves of the period.
"""

from dataclasses import replace
from typing import Final

from pipeline import verify
from pipeline.audit.request import Drawn, Scope
from pipeline.continuity.service import LedgerService
from pipeline.errors import CallerError
from pipeline.log.checkpoints import Checkpoint
from pipeline.log.entries import public_name

_NOT_DRAWN: Final = "No sample was drawn"


def drawn(service: LedgerService, scope: Scope) -> Scope:
    """The same scope, of a sample with its checkpoint, the newest where it names none, and with
    what was drawn. Raises `CallerError` where the log signed no such checkpoint, or the period has
    no process in it."""
    if scope.sample is None:
        return scope
    signed = newest(service) if scope.sample.checkpoint is None else None
    sample = scope.sample if signed is None else scope.sample._replace(checkpoint=signed.size)
    root, size = root_at(service, sample.checkpoint or 0), sample.checkpoint
    condition, values = scope.named_by_entries
    sql = f"select distinct process_id from log where seq <= ? and {condition}"
    found = service.ledger.cursor().execute(sql, [size, *values]).fetchall()
    names = {public_name(it, service.inbox.log_key): it for (it,) in found if it is not None}
    if not names:
        raise CallerError(
            _NOT_DRAWN,
            f"none of the first {size} entries is of a process and of the period",
            "choose another period",
        )
    chosen = verify.drawn(names, root, sample.number, sample.size)
    of_it = Drawn(tuple(names[it] for it in chosen), len(names))
    return replace(scope, sample=sample, drawn=of_it)


def newest(service: LedgerService) -> Checkpoint:
    """The newest checkpoint that the log has signed; signs one now where the key is here."""
    signed = service.checkpoint()
    if signed is None:
        raise CallerError(
            _NOT_DRAWN, "the log has signed no checkpoint yet", "try again in a moment"
        )
    return Checkpoint.read(signed.note)


def is_signed(service: LedgerService, size: int) -> bool:
    """Whether the log has signed a checkpoint of so many entries."""
    return any(it.size == size for it in service.inbox.checkpoints())


def root_at(service: LedgerService, size: int) -> bytes:
    """The root of the signed checkpoint of `size` entries. Raises `CallerError` without one."""
    kept = [it for it in service.inbox.checkpoints() if it.size == size]
    if not kept:
        raise CallerError(
            _NOT_DRAWN,
            f"the log has signed no checkpoint of {size} entries",
            "name one that it has signed, or none for the newest",
        )
    return Checkpoint.read(kept[-1].note).root
