"""Receipts of inclusion in COSE (RFC 9942), read by a library that is not ours."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import cbor2
import pytest
from pycose.headers import KID, Algorithm
from pycose.keys import OKPKey
from pycose.keys.curves import Ed25519
from pycose.messages import Sign1Message

from pipeline import verify
from pipeline.audit.receipts import Proof, prove
from pipeline.continuity.service import LedgerService
from pipeline.errors import CallerError
from pipeline.log.tree import TlogProof
from tests.audit import story
from tests.audit.conftest import command
from tests.support.inclusion import root_by_inclusion
from tests.support.stores import settings_in

VDS, VDP, CWT_CLAIMS = 395, 396, 15


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LedgerService]:
    with closing(LedgerService(settings_in(tmp_path_factory.mktemp("receipts")))) as opened:
        story.record(opened.inbox, opened.settings.artifacts)
        opened.catch_up()
        yield opened


def message_of(proof: Proof) -> Sign1Message:
    """Behind its tag: what cbor2 6 gives for a tagged list, pycose does not take for one."""
    tagged = cbor2.loads(proof.cose)
    assert tagged.tag == 18
    protected, unprotected, *rest = tagged.value
    return Sign1Message.from_cose_obj([protected, dict(unprotected), *rest], True)


def root_of(proof: Proof) -> bytes:
    """What the receipt's own proof leads to from the leaf, by RFC 9162."""
    message = message_of(proof)
    [inclusion] = message.uhdr[VDP][-1]
    size, index, path = cbor2.loads(inclusion)
    leaf = hashlib.sha256(b"\x00" + proof.leaf).digest()
    return root_by_inclusion(index, size, leaf, path)


def is_signed(proof: Proof, service: LedgerService, root: bytes) -> bool:
    assert service.signer is not None
    public = verify.read_key(str(service.signer.key)).public
    message = message_of(proof)
    assert message.payload is None
    message.key = OKPKey(crv=Ed25519, x=public)
    return bool(message.verify_signature(detached_payload=root))


@pytest.mark.parametrize("seq", [1, 2, 8, 15, 16])
def test_a_receipt_is_verified_by_another_library(service: LedgerService, seq: int) -> None:
    proof = prove(service, seq)
    assert json.loads(proof.leaf)["seq"] == seq
    assert root_of(proof) == service.ledger.frontier.root()
    assert is_signed(proof, service, root_of(proof))
    message = message_of(proof)
    assert service.signer is not None
    assert message.phdr[VDS] == 1, "RFC9162_SHA256"
    assert message.phdr[KID] == service.signer.key.id
    assert message.phdr[CWT_CLAIMS] == {1: service.inbox.log}
    assert message.phdr[Algorithm].fullname == "EDDSA"


def test_a_receipt_of_another_leaf_or_root_is_not(service: LedgerService) -> None:
    proof = prove(service, 8)
    other = proof._replace(leaf=proof.leaf.replace(b'"seq":8', b'"seq":9'))
    assert not is_signed(other, service, root_of(other))
    assert not is_signed(proof, service, bytes(32))


def test_both_formats_say_the_same(service: LedgerService) -> None:
    proof = prove(service, 8)
    said = TlogProof.read(proof.tlog_proof)
    [inclusion] = message_of(proof).uhdr[VDP][-1]
    assert cbor2.loads(inclusion) == [16, said.leaf, list(said.hashes)]


@pytest.mark.parametrize("seq", [17, 9_999])
def test_there_is_no_receipt_of_what_is_not_in_the_log(service: LedgerService, seq: int) -> None:
    with pytest.raises(CallerError, match=f"There is no entry {seq}") as told:
        prove(service, seq)
    assert "log_entries" in told.value.remedy


def test_the_command_writes_leaf_and_proofs(at_rest: Path, tmp_path: Path) -> None:
    done = command(settings_in(at_rest), "receipt", "5", "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert sorted(it.name for it in (tmp_path / "out").iterdir()) == [
        *("5.cose", "5.leaf.json", "5.tlog-proof")
    ]
    nowhere = command(settings_in(at_rest), "receipt", "5", "--out", "")  # of a variable, not set
    assert (nowhere.returncode, nowhere.stdout) == (2, "")
    assert "it is empty: name a folder" in nowhere.stderr
