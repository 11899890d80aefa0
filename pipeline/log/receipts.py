"""Writes receipts: one entry's proof of inclusion as a COSE message (RFC 9942, RFC9162_SHA256).

A receipt says the same as a `tlog_proof`, for readers of COSE: with the leaf and the log's public
key one works out the root from the proof, which is the payload that is signed and left out.
"""

from collections.abc import Sequence
from typing import Final

import cbor2

from pipeline.log.checkpoints import Signer

_ALG, _KID, _CWT_CLAIMS, _VDS, _VDP = 1, 4, 15, 395, 396
_EDDSA: Final = -8
_RFC9162_SHA256: Final = 1
_INCLUSION: Final = -1
_ISSUER: Final = 1
_COSE_SIGN1: Final = 18


def receipt(signer: Signer, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bytes:
    """The receipt of leaf `index` in the tree of the first `size` leaves with this root. The root
    itself is not in it: a reader works it out from leaf and proof. The header names log and key."""
    protected = _encoded(
        {
            _ALG: _EDDSA,
            _KID: signer.key.id,
            _CWT_CLAIMS: {_ISSUER: signer.key.name},
            _VDS: _RFC9162_SHA256,
        }
    )
    signed = signer.sign_bytes(_encoded(["Signature1", protected, b"", root]))
    inclusion = _encoded([size, index, list(proof)])
    unprotected = {_VDP: {_INCLUSION: [inclusion]}}
    return _encoded(cbor2.CBORTag(_COSE_SIGN1, [protected, unprotected, None, signed]))


def _encoded(value: object) -> bytes:
    return cbor2.dumps(value, canonical=True)
