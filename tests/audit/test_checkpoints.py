"""Checkpoints and keys in the formats of C2SP, by vectors that other implementations share."""

import stat
import subprocess
from pathlib import Path

import pytest

from pipeline import verify
from pipeline.errors import CallerError, OperatorError
from pipeline.log.checkpoints import Checkpoint, Signer, VerificationKey
from pipeline.log.signing import LogKeys, open_checkpoint

# From the documentation of golang.org/x/mod/sumdb/note.
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PETERS_NOTE = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
    "\n"
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6"
    "KE6RyyBwJnAM=\n"
)


@pytest.fixture
def signer(tmp_path: Path) -> Signer:
    path = tmp_path / "signing.key"
    path.write_text("00" * 31 + "01\n", encoding="ascii")
    path.chmod(0o600)
    return Signer("prazo/0123456789abcdef", path)


def test_a_note_of_another_implementation_opens_under_its_key() -> None:
    key = VerificationKey.parse(PETER)
    assert str(key) == PETER
    assert key.opened(PETERS_NOTE) == PETERS_NOTE.partition("\n\n")[0] + "\n"
    assert verify.signed_text(PETERS_NOTE.encode(), verify.read_key(PETER)).startswith("If you")


def test_a_changed_note_does_not_open() -> None:
    key = VerificationKey.parse(PETER)
    changed = PETERS_NOTE.replace("don't", "do")
    with pytest.raises(ValueError, match="not a note signed by PeterNeumann"):
        key.opened(changed)
    with pytest.raises(verify.Fault, match="a signature that does not fit"):
        verify.signed_text(changed.encode(), verify.read_key(PETER))


def test_a_checkpoint_has_these_bytes(signer: Signer) -> None:
    """The key is 31 zero bytes and a one: anybody can sign this again and compare."""
    assert str(signer.key).startswith("prazo/0123456789abcdef+")
    note = signer.checkpoint(3, bytes(32))
    assert note.startswith(
        "prazo/0123456789abcdef\n3\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n"
        "— prazo/0123456789abcdef "
    )
    text = signer.key.opened(note)
    assert Checkpoint.read(text) == Checkpoint("prazo/0123456789abcdef", 3, bytes(32))
    assert verify.signed_text(note.encode(), verify.read_key(str(signer.key))) == text
    assert signer.checkpoint(3, bytes(32)) == note


@pytest.mark.parametrize(
    "text",
    [
        "",
        "prazo/x\n3\n",
        "prazo/x\n03\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
        "prazo/x\n-1\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
        "prazo/x\n3\nAAAA\n",
        "prazo/x\n3\nnot base64\n",
    ],
)
def test_what_is_not_a_checkpoint_is_not_read_as_one(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        Checkpoint.read(text)


@pytest.mark.parametrize(
    "text", ["", "a+b", PETER.replace("c74f", "c74e"), PETER[:-4], PETER + "x"]
)
def test_a_key_that_does_not_fit_its_own_hash_is_refused(text: str) -> None:
    with pytest.raises(CallerError, match="not a verification key"):
        VerificationKey.parse(text)
    with pytest.raises(ValueError):  # noqa: PT011
        verify.read_key(text)


def test_the_key_is_made_on_first_use_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "signing.key"
    first = Signer.made("prazo/x", path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert str(Signer("prazo/x", path).key) == str(first.key)


def test_a_damaged_key_file_is_refused_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "signing.key"
    path.write_text("half a key", encoding="ascii")
    with pytest.raises(OperatorError, match="restore it from a backup"):
        Signer("prazo/x", path)
    assert path.read_text(encoding="ascii") == "half a key"
    with pytest.raises(OperatorError) as refused:
        Signer("prazo/x", tmp_path)  # as one that we may not read: its copy is not what is missing
    assert refused.value.why == "Is a directory"
    assert refused.value.remedy == "check the path, and that the user who runs this may read it"


def test_openssl_verifies_a_checkpoint_by_hand(signer: Signer, tmp_path: Path) -> None:
    """As `docs/evidence.md` shows it: the key and the signature are cut out of the two lines."""
    note = signer.checkpoint(3, bytes(32))
    (tmp_path / "note").write_text(note, encoding="utf-8")
    script = r"""
        set -eu
        sed '/^$/,$d' note > text
        tail -n 1 note | cut -d ' ' -f 3 | base64 -d | tail -c +5 > signature
        printf '%s' "$VKEY" | cut -d + -f 3- | base64 -d | tail -c +2 > public
        { printf '\060\052\060\005\006\003\053\145\160\003\041\000'; cat public; } > key.der
        openssl pkeyutl -verify -rawin -pubin -keyform DER -inkey key.der \
            -in text -sigfile signature
    """
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=tmp_path,
        env={"VKEY": str(signer.key), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Signature Verified Successfully" in done.stdout


def test_a_note_ends_with_its_signatures_each_in_its_one_spelling(signer: Signer) -> None:
    """Text behind the signature was passed over, and a last digit that says more than the bytes."""
    note = signer.checkpoint(3, bytes(32))
    assert open_checkpoint(note, LogKeys(signer.key)).size == 3
    text, _, line = note.rpartition("\n\n")
    assert line.endswith("=\n")
    other = chr(ord(line[-3]) + 1)  # two bits of the digit before the padding belong to no byte
    root = text.split("\n")[2]
    assert root == "A" * 43 + "="
    for changed in (
        f"{note}VERIFIED\n",
        f"{text}\n\nVERIFIED\n{line}",
        f"{text}\n\n{line} ",
        f"{text}\n\n{line[:-3]}{other}{line[-2:]}",
    ):
        with pytest.raises(ValueError, match=r"not a note|not base64"):
            open_checkpoint(changed, LogKeys(signer.key))
    with pytest.raises(ValueError, match="not base64"):
        Checkpoint.read(text.replace(root, "A" * 42 + "B="))
