"""Asks the witnesses of a policy to cosign the log's newest checkpoint."""

import base64
from datetime import datetime
from pathlib import Path
from typing import Final

from pipeline import instants
from pipeline.audit.witness.service import SIZE
from pipeline.continuity.service import LedgerService
from pipeline.errors import OperatorError, SettingsError
from pipeline.http import addresses
from pipeline.http.outgoing import asking
from pipeline.log import tree
from pipeline.log.checkpoints import Checkpoint
from pipeline.verify import CLOCK_TOLERANCE, Key, Policy, cosigned_at, plain
from pipeline.written import read_small

MAX_SIGNATURES: Final = 8
"""Lines that one witness may answer."""


def read_policy(path: Path) -> Policy:
    """The policy in a file; `SettingsError` if there is none."""
    try:
        return Policy(read_small(path))
    except (SettingsError, ValueError) as error:
        raise SettingsError(
            f"The policy of witnesses {path} cannot be used",
            error.why if isinstance(error, SettingsError) else str(error),
            "write it as docs/evidence.md#witnesses shows",
        ) from None


def cosigned(service: LedgerService, note: str, policy: Policy) -> str:
    """The signed checkpoint with a line of each witness that cosigned it.

    Raises `OperatorError`, with what each witness said, where these are not enough for the policy.
    What a verifier would not count, as being of before the newest entry, does not count here.
    """
    checkpoint = Checkpoint.read(note)
    found, reasons = note, []
    there = set()
    for name, url in policy.urls.items():
        try:
            line = _ask(service, note, checkpoint, url, policy.witnesses[name])
        except ValueError as error:
            reasons.append(f"{name} at {addresses.shown(url)}: {error}")
        else:
            found += line
            there.add(name)
    if not policy.holds(there):
        raise OperatorError(
            "The checkpoint was not cosigned by enough witnesses",
            "; ".join(reasons) or "no witness of the policy has a URL",
            "try again, or change the policy that PRAZO_WITNESSES_FILE names",
        )
    return found


def _ask(service: LedgerService, note: str, checkpoint: Checkpoint, url: str, key: Key) -> str:
    """The line by which a witness cosigns; ValueError, with the reason, where it does not.

    What a witness saw last, only it knows: it is asked from there once it has said so.
    """
    answer = _add(service, note, checkpoint, url, 0)
    if answer.status == 409:
        known = answer.body.decode("ascii", "replace").strip()
        if not (known.isascii() and known.isdecimal() and len(known) < 17):
            raise ValueError(f"it answered 409 without a {SIZE}")
        if not 0 < int(known) <= checkpoint.size:
            raise ValueError(f"it knows {known} entries, and the log has {checkpoint.size}")
        answer = _add(service, note, checkpoint, url, int(known))
    if answer.status != 200:
        said = plain(answer.body[:200].decode("utf-8", "replace").strip())
        raise ValueError(f"it answered {answer.status}: {said}")
    for line in answer.body.decode("utf-8", "replace").splitlines(keepends=True)[:MAX_SIGNATURES]:
        at = cosigned_at((note + line).encode(), key)
        if at is not None:
            [newest] = service.ledger.recorded(checkpoint.size, checkpoint.size)
            _require_later(at, instants.of(newest.recorded_at))
            return line
    raise ValueError("it gave no cosignature by its key")


def _require_later(at: datetime, recorded: datetime) -> None:
    """Raises ValueError for a cosignature of before the newest entry was `recorded`."""
    if at < recorded - CLOCK_TOLERANCE:
        raise ValueError(
            f"it cosigned at {at:%Y-%m-%d %H:%M:%S} UTC, and the newest entry is of"
            f" {recorded:%Y-%m-%d %H:%M:%S} UTC: one of the two clocks is wrong, and no verifier"
            " would count it"
        )


def _add(
    service: LedgerService, note: str, checkpoint: Checkpoint, url: str, old: int
) -> asking.Answer:
    proof: list[bytes] = []
    if old:
        proof = tree.consistency_proof(old, checkpoint.size, service.ledger.subtrees())
    lines = "".join(f"{base64.b64encode(it).decode()}\n" for it in proof)
    body = f"old {old}\n{lines}\n{note}".encode()
    return asking.post(f"{url.rstrip('/')}/add-checkpoint", body, "text/plain; charset=utf-8")
