"""verify.py as an auditor has it: one file beside a package, an old Python, nothing of ours."""

import ast
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import bagit
import pytest

from pipeline import verify
from tests.evidence import forgery
from tests.evidence.conftest import Made

SOURCE = Path(verify.__file__)
README = Path(__file__).parents[2] / "README.md"
NEEDS = ("jq", "openssl", "basenc", "sha256sum")


def oldest_python() -> str:
    """A Python 3.9, if this machine has one; skips the test where it has none."""
    for it in (
        shutil.which("python3.9"),
        *map(str, Path.home().glob(".pyenv/versions/3.9*/bin/python3.9")),
    ):
        if it and subprocess.run([it, "-c", ""], capture_output=True, check=False).returncode == 0:
            return it
    pytest.skip("there is no Python 3.9 here")


def run(python: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, "-I", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


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
    assert right.stdout.endswith("VERIFIED\n")
    assert "  checked  17 entries stand in the log of 17, canonical" in right.stdout
    assert "  checked  the log continues the earlier checkpoint at 16" in right.stdout
    assert "  note     1 bodies are withheld (by the exporter)" in right.stdout

    changed = files["data/entries/8/body.bin"] + b" "
    forged = forgery.write(tmp_path / "f.zip", {**files, "data/entries/8/body.bin": changed})
    wrong = run(interpreter, script, forged, "--key", made.key)
    assert (wrong.returncode, wrong.stderr) == (1, "")
    assert "  FAULT    entry 8: body.bin is not what was recorded" in wrong.stdout
    assert wrong.stdout.splitlines()[-1].startswith("NOT VERIFIED: ")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["missing.zip"], "there is no file missing.zip"),
        (["PACKAGE", "--key", "x+y"], "--key is no verification key"),
        (["PACKAGE", "--against", "missing.note"], "No such file"),
    ],
)
def test_wrong_usage_is_no_verdict(
    made: Made, capsys: pytest.CaptureFixture[str], arguments: list[str], why: str
) -> None:
    given = [str(made.path) if it == "PACKAGE" else it for it in arguments]
    assert verify.main(given) == 2
    shown = capsys.readouterr()
    assert why in shown.err
    assert shown.out == ""


def by_hand() -> str:
    """The commands that the README shows an auditor who has no program of ours."""
    text = README.read_text(encoding="utf-8").partition("With no program of ours at all:\n")[2]
    lines = text.lstrip("\n").splitlines()
    end = next(at for at, line in enumerate(lines) if line and not line.startswith("    "))
    return "\n".join(it[4:] for it in lines[:end])


@pytest.mark.parametrize("changed", [None, "data/report.html", "data/entries/8/body.bin", "key"])
def test_bagit_sha256sum_jq_and_openssl_agree_by_hand(
    made: Made, tmp_path: Path, changed: str | None
) -> None:
    """The README's own commands. A body is changed together with its manifests, so that it is the
    commitment in the leaf that finds it; and the key is another's."""
    for it in NEEDS:
        if shutil.which(it) is None:
            pytest.skip(f"{it} is not installed (Debian: apt install jq openssl)")
    package = tmp_path / "package.zip"
    files = forgery.read(made.path)
    if changed and changed != "key":
        files[changed] += b" "
    if changed == "data/entries/8/body.bin":
        files = forgery.seal(files, made.signer)
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
    if changed == "data/entries/8/body.bin":
        assert done.stdout == "FAULT data/entries/8/\n"


@pytest.mark.parametrize("option", ["--key", "--against", "--authority"])
def test_a_check_that_is_asked_for_with_nothing_is_no_check_that_was_not_asked_for(
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
