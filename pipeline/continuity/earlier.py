"""Compares the log with an earlier checkpoint that somebody kept elsewhere.

A person who has the signing key and both stores can rewrite all three. Only a checkpoint that is
out of their reach reveals it.
"""

import contextlib

from pipeline.continuity.forks import Ended, ended_by
from pipeline.continuity.service import LedgerService
from pipeline.errors import CallerError, OperatorError
from pipeline.inbox import Head
from pipeline.log.checkpoints import Checkpoint
from pipeline.log.signing import open_checkpoint
from pipeline.verify import Verdict


class LogRewritten(OperatorError):
    """The log had another root when the checkpoint was signed."""


class PastAbandoned(CallerError):
    """The checkpoint was signed over entries that the inbox lost, as an entry of the log says, or
    may have been."""


def continued(service: LedgerService, note: str, size: int) -> Checkpoint:
    """Checks that the log's first `size` entries continue an earlier checkpoint, and returns it.

    `note`: the signed checkpoint. Raises `CallerError` if it is not one of this log's past, and
    `LogRewritten` if the log had another root, or `PastAbandoned` where the log itself says why.
    """
    try:
        held = open_checkpoint(note, service.signing.known())
    except ValueError as error:
        lost = _of_a_lost_past(service, note)
        if lost is not None:
            raise _abandoned(*lost) from None
        raise CallerError(
            "The earlier checkpoint cannot be used",
            str(error),
            "give one that `prazo checkpoint` printed, or `GET /checkpoint` of this log's receiver",
        ) from None
    is_here = held.log == service.inbox.log and held.size <= size
    if is_here and service.ledger.root_at(held.size) == held.root:
        return held
    ended = None
    if held.log == service.inbox.log:
        ended = ended_by(service.ledger, service.inbox, Head(held.size, held.root))
    # That of a log which has fewer entries may as well be of one that was cut off.
    if ended is not None and (is_here or ended.is_shown):
        raise _abandoned(held, ended)
    if is_here:
        raise LogRewritten(
            "The earlier checkpoint contradicts this log",
            f"the log had another root when it had {held.size} entries",
            "the log was rewritten since, or put back from another copy: do not use it;"
            " find the copy that the checkpoint belongs to",
        )
    may_be_lost = (
        ""
        if ended is None
        else f", or it is of a past that was given up, as entry {ended.said.seq} says of one"
    )
    raise CallerError(
        "The earlier checkpoint is not one of this log's past",
        f"it has {held.size} entries of {held.log}; this is {size} of {service.inbox.log}:"
        f" an older copy was put back, or another log{may_be_lost}",
    )


def judge(service: LedgerService, note: str, verdict: Verdict) -> None:
    """Adds to a verdict on the stores whether the log continues an earlier checkpoint."""
    try:
        held = continued(service, note, service.ledger.size)
    except LogRewritten as error:
        verdict.fault(f"THE LOG WAS REWRITTEN: {error.why}")
    except PastAbandoned as error:
        verdict.undecided.append(f"{error.finding}. {error.remedy}")
    except CallerError as error:
        verdict.fault(error.finding)
    else:
        verdict.passed(f"the log continues the earlier checkpoint at {held.size}")


def _of_a_lost_past(service: LedgerService, note: str) -> tuple[Checkpoint, Ended] | None:
    """What a note says that another key of the log signed than the one that signs for its size now,
    and the reconciliation that explains it: in the past that was lost, that key was in force
    sooner. None where nothing explains it."""
    for tenure in service.signing.known() or ():
        with contextlib.suppress(ValueError):
            held = Checkpoint.read(tenure.key.opened(note))
            ended = ended_by(service.ledger, service.inbox, Head(held.size, held.root))
            if ended is not None and ended.is_shown and held.log == service.inbox.log:
                return held, ended
    return None


def _abandoned(held: Checkpoint, ended: Ended) -> PastAbandoned:
    said = ended.said
    lost = f"entry {said.seq} says that the inbox lost what followed entry {said.fork}"
    remedy = "Read that entry and those after it, and ask for a checkpoint of the log as it is now"
    if not ended.is_shown:
        return PastAbandoned(
            "The earlier checkpoint may be of a past that was given up",
            f"{lost}, up to {said.reached}, and not all of that was recorded again. So nothing here"
            f" shows which root that past had when it had {held.size} entries, and nobody can tell"
            " whether the checkpoint is of it, or the log was rewritten",
            remedy,
        )
    return PastAbandoned(
        "The earlier checkpoint is of a past that was given up",
        f"{lost}, and why."
        f" That the {held.size - said.fork} entries which this checkpoint covers beyond it follow"
        " there again as they were is the word of whoever recorded them, and may have had the key",
        remedy,
    )
