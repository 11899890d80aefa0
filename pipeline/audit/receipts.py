"""Proves one entry to somebody who needs no package: its leaf, a tlog-proof and a COSE receipt."""

from typing import NamedTuple

from pipeline.continuity.service import LedgerService
from pipeline.errors import CallerError, OperatorError
from pipeline.log import tree
from pipeline.log.checkpoints import Checkpoint
from pipeline.log.receipts import receipt


class Proof(NamedTuple):
    """That an entry stands in the log, in two formats."""

    leaf: bytes
    tlog_proof: str
    cose: bytes


def prove(service: LedgerService, seq: int) -> Proof:
    """The proof of one entry in the log as it is now.

    Raises `CallerError` if there is no such entry, and `OperatorError` where the log cannot be
    signed.
    """
    if service.signer is None:
        missing = service.signing.missing()
        raise OperatorError("No receipt can be signed here", missing.why, missing.remedy)
    service.catch_up()
    signed = service.checkpoint()
    found = service.ledger.leaves([seq])
    if signed is None or not found or not 1 <= seq <= signed.size:
        raise CallerError(
            f"There is no entry {seq}",
            f"the log has {service.ledger.size}",
            "`prazo show log_entries` lists them",
        )
    checkpoint = Checkpoint.read(signed.note)
    proof = tree.inclusion_proof(seq - 1, checkpoint.size, service.ledger.subtrees())
    return Proof(
        found[0][1],
        tree.tlog_proof(seq - 1, proof, signed.note),
        receipt(service.signer, seq - 1, checkpoint.size, proof, checkpoint.root),
    )
