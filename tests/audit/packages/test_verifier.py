"""verify.py as an auditor has it: one file beside a package, an old Python, nothing of ours."""

import ast
import base64
import errno
import hashlib
import mmap
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import bagit
import pytest

from pipeline import verify
from pipeline.audit import timestamps
from pipeline.log import entries
from tests.audit import forgery
from tests.audit.conftest import Made
from tests.audit.conftest import is_signed as in_process
from tests.audit.test_timestamps import Authority

SOURCE = Path(verify.__file__)
PAGE = Path(__file__).parents[3] / "docs/evidence.md"
NEEDS = ("jq", "openssl", "basenc", "sha256sum")


def oldest_python() -> str:
    """A Python 3.9, if this machine has one; skips the test where it has none."""
    found = Path.home().glob(".pyenv/versions/3.9*/bin/python3.9")
    for python in filter(None, (shutil.which("python3.9"), *map(str, found))):
        if subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0:
            return python
    pytest.skip("there is no Python 3.9 here")


def run(python: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, "-I", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("path", ["", "."])
@pytest.mark.parametrize("name", ["argparse", "csv", "zlib"])
def test_nothing_beside_it_runs_in_the_place_of_the_standard_library(
    tmp_path: Path, name: str, path: str
) -> None:
    """In a package that somebody unpacked, such a file ran before anything was checked, and could
    print a verdict of its own."""
    shutil.copy(SOURCE, tmp_path)
    (tmp_path / f"{name}.py").write_text("print('VERIFIED'); raise SystemExit(0)")
    ended = subprocess.run(
        [sys.executable, tmp_path / "verify.py", "none.zip"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "Error: there is no file none.zip\n"


def test_it_is_one_file_of_python_39_and_imports_the_standard_library_alone() -> None:
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"), feature_version=(3, 9))
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [it.name for it in node.names]
            if isinstance(node, ast.Import)
            else [node.module or "relative"]
        )
    }
    assert imported <= sys.stdlib_module_names
    assert not imported & {"socket", "ssl", "http", "urllib", "ftplib", "sqlite3", "ctypes"}


@pytest.mark.parametrize("python", [sys.executable, "3.9"], ids=["this Python", "Python 3.9"])
def test_the_copy_in_the_package_verifies_it_and_names_a_fault(
    made: Made, tmp_path: Path, python: str
) -> None:
    interpreter = oldest_python() if python == "3.9" else python
    files = forgery.read(made.path)
    assert files["verify.py"] == SOURCE.read_bytes()
    script, earlier = tmp_path / "verify.py", tmp_path / "earlier.note"
    script.write_bytes(files["verify.py"])
    earlier.write_bytes(made.earlier)
    right = run(interpreter, script, made.path, "--key", made.key, "--against", earlier)
    assert (right.returncode, right.stderr) == (0, "")
    assert right.stdout.splitlines()[-1].startswith("VERIFIED, but for what is not checked: 5")
    assert "  checked  17 entries stand in the log of 17, canonical" in right.stdout
    assert "  checked  the log continues the earlier checkpoint at 16" in right.stdout
    assert "  NOT CHECKED the content of 1 body that is withheld (by the exp" in right.stdout

    forged = forgery.write(tmp_path / "f.zip", forgery.seal(with_longer_body(files), made.signer))
    wrong = run(interpreter, script, forged, "--key", made.key)
    assert (wrong.returncode, wrong.stderr) == (1, "")
    assert "  FAULT    entry 8: its body is not what was recorded" in wrong.stdout
    assert wrong.stdout.splitlines()[-1] == "NOT VERIFIED: 1 fault"


def with_longer_body(files: forgery.Files) -> forgery.Files:
    """Entry 8 was submitted with a blank more."""
    parts = forgery.parts(files)
    leaves = [it.leaf for it in parts]
    changed = [it._replace(body=it.body + b" ") if it.seq == 8 else it for it in parts]
    return forgery.with_parts(files, changed, leaves)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["missing.zip"], "there is no file missing.zip"),
        (["."], ". is a folder: give the zip file as it came"),
        (["PACKAGE", "--key", "x+y"], "--key is not a verification key"),
        (["PACKAGE", "--against", "missing.note"], "No such file"),
        (["PACKAGE", "--against", __file__], "--against is not a checkpoint: give what"),
    ],
)
def test_wrong_usage_is_not_a_verdict(
    made: Made, capsys: pytest.CaptureFixture[str], arguments: list[str], why: str
) -> None:
    given = [str(made.path) if it == "PACKAGE" else it for it in arguments]
    assert verify.main(given) == 2
    shown = capsys.readouterr()
    assert why in shown.err
    assert shown.out == ""


def by_hand() -> str:
    """The commands that the page shows an auditor who has no program of ours."""
    text = PAGE.read_text(encoding="utf-8").partition("With no program of ours at all:\n")[2]
    lines = text.lstrip("\n").splitlines()
    end = next(at for at, line in enumerate(lines) if line and not line.startswith("    "))
    return "\n".join(it[4:] for it in lines[:end])


@pytest.mark.parametrize("changed", [None, "data/report.html", "body of 8", "key"])
def test_bagit_sha256sum_jq_and_openssl_agree_by_hand(
    made: Made, tmp_path: Path, changed: str | None
) -> None:
    """The page's own commands. A body is changed together with its manifests, so that it is the
    commitment in the leaf that finds it; and the key is another's."""
    for program in NEEDS:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (Debian: apt install jq openssl)")
    package = tmp_path / "package.zip"
    files = forgery.read(made.path)
    if changed == "data/report.html":
        files[changed] += b" "
    if changed == "body of 8":
        files = forgery.seal(with_longer_body(files), made.signer)
    forgery.write(package, files)
    vkey = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
    done = subprocess.run(
        ["sh", "-euc", by_hand()],
        cwd=tmp_path,
        env={
            "PACKAGE": str(package),
            "VKEY": vkey if changed == "key" else made.key,
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode == 0) == (changed is None), done.stdout + done.stderr
    if changed is None:
        assert done.stdout == "Signature Verified Successfully\n"
    if changed == "body of 8":
        assert done.stdout == "FAULT 8\n"


def test_openssl_says_of_a_signature_what_the_library_of_other_tests_says(made: Made) -> None:
    note = forgery.read(made.path)["manifest.note"].rpartition(b"\n\n")
    text, key = note[0] + b"\n", verify.read_key(made.key)
    signature = base64.b64decode(note[2].split()[2])[4:]
    for is_signed in (verify.is_signed, in_process):
        assert is_signed(text, signature, key)
        assert not is_signed(text + b"\n", signature, key)
        assert not is_signed(text, signature[::-1], key)


def test_no_room_for_temporary_files_is_not_a_verdict(
    made: Made,
    small_disk: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A whole package was NOT VERIFIED, as if it were forged. Of a timestamp openssl then says no
    more than that it failed."""
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(shutil.disk_usage(small_disk).free))
    assert verify.main([str(made.path), "--key", made.key]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "(No space left on device), so there is no verdict: make room" in said.err
    with closing(Authority(tmp_path)) as authority:
        answer = timestamps.stamp(authority.url, b"x")
    stamp = verify.Stamp(answer, hashlib.sha256(b"x").hexdigest())
    assert len(answer) < mmap.PAGESIZE
    os.truncate(ballast, ballast.stat().st_size - mmap.PAGESIZE)  # room for the answer alone
    with pytest.raises(verify.Unusable, match="there is no verdict"):
        verify._stamped(stamp, None, None, b"")
    ballast.unlink()
    assert abs(verify._stamped(stamp, None, None, b"") - datetime.now(UTC)) < timedelta(minutes=2)


def _refused() -> subprocess.CompletedProcess[bytes]:
    raise PermissionError(errno.EACCES, "Permission denied", "openssl")


@pytest.mark.parametrize(
    ("run_openssl", "said"),
    [
        # As LibreSSL answers, which macOS calls openssl: every package was NOT VERIFIED there.
        (lambda: _ended(1, b"Unknown option: -rawin"), "cannot check signatures by Ed25519, so"),
        (lambda: _ended(-9), "openssl was killed, so there is no verdict"),
        (_refused, "openssl cannot be started (Permission denied), so there is no verdict"),
    ],
)
def test_what_the_openssl_here_cannot_do_is_not_a_fault_of_the_package(
    made: Made,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    run_openssl: Callable[[], subprocess.CompletedProcess[bytes]],
    said: str,
) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: run_openssl())
    assert verify.main([str(made.path), "--key", made.key]) == 2
    shown = capsys.readouterr()
    assert (shown.out, said in shown.err) == ("", True)


def _ended(code: int, said: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.CompletedProcess(["openssl"], code, b"", said)


def test_a_verdict_that_has_no_place_to_go_is_none(
    made: Made, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `>&-` closes standard output: it ended with 0 and said nothing."""
    monkeypatch.setattr(sys, "stdout", None)
    assert verify.main([str(made.path), "--key", made.key]) == 2
    assert "standard output is closed" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--key", "--against", "--authority"])
def test_a_check_that_is_asked_for_with_nothing_is_not_taken_for_one_that_was_not_asked_for(
    made: Made, tmp_path: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").touch()
    given = str(tmp_path / "empty") if option == "--against" else ""
    assert verify.main([str(made.path), option, given]) == 2
    assert f"{option} is empty" in capsys.readouterr().err


def test_bagit_has_nothing_to_say_against_a_package(made: Made, tmp_path: Path) -> None:
    with zipfile.ZipFile(made.path) as package:
        package.extractall(tmp_path / "bag")
    bag = bagit.Bag(str(tmp_path / "bag"))
    bag.validate(completeness_only=False)
    assert bag.version_info == (1, 0)


def test_the_verifier_knows_which_identifiers_a_leaf_may_hold_as_they_are() -> None:
    """A name that stands for a hash must be one of the others."""
    assert verify.OPAQUE.pattern == entries._OPAQUE.pattern


def test_ctrl_c_is_not_a_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was a traceback, with 130 or whatever else Python makes of it."""

    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(verify, "verify", pressed)
    (tmp_path / "p.zip").write_bytes(b"")
    assert verify.main([str(tmp_path / "p.zip")]) == 2
    assert capsys.readouterr() == ("", "Error: interrupted, so there is no verdict\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, as Linux has it")
@pytest.mark.parametrize(("place", "code", "said"), [("", 1, ""), ("/dev/full", 2, "Error: the")])
def test_a_verdict_that_nobody_takes_ends_with_its_own_code(
    tmp_path: Path, place: str, code: int, said: str
) -> None:
    """With `| head -1` a traceback followed, and a package without a fault ended with 1, too."""
    (tmp_path / "bad.zip").write_bytes(b"no zip")
    reader, out = os.pipe()
    os.close(reader)
    with open(place or out, "wb") as nowhere:  # noqa: PTH123
        command = [sys.executable, SOURCE, tmp_path / "bad.zip"]
        ended = subprocess.run(command, stdout=nowhere, stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, ended.stderr[: len(said) or None]) == (code, said)
