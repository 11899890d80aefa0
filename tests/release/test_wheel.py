"""The wheel as it is installed: on each Python and in odd places it works, or says in one line why
it does not.
"""

import os
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.release.installed import ROOT, UV, Installed, install, python

NOBODY = 54321
"""A user that the machine does not know."""


@pytest.mark.timeout(400)
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_it_works_on_each_python(version: str, wheel: Path, tmp_path: Path) -> None:
    interpreter = python(version)
    if interpreter is None:
        pytest.skip(f"there is no Python {version} here")
    installed = install(wheel, interpreter, tmp_path / "venv")
    installed = replace(installed, folder=tmp_path)
    installed.is_whole()
    installed.comes_up("demo")


def test_the_source_has_what_an_operator_needs_and_no_secret(wheel: Path) -> None:
    """The files of deploy/ that git knows, and none that make-secrets made there."""
    listed = subprocess.check_output(["git", "ls-files", "deploy"], cwd=ROOT, text=True).split()
    with tarfile.open(next(wheel.parent.glob("*.tar.gz"))) as source:
        names = {it.name.partition("/")[2] for it in source.getmembers() if it.isfile()}
    assert {it for it in names if it.startswith("deploy/")} == set(listed)
    assert {"Containerfile", "requirements.lock", "app.py"} <= names


def test_an_older_python_refuses_it_in_one_line(wheel: Path, tmp_path: Path) -> None:
    interpreter = python("3.10")
    if interpreter is None:
        pytest.skip("there is no Python 3.10 here")
    done = subprocess.run(
        [interpreter, "-m", "pip", "install", "--no-deps", "--target", tmp_path, wheel],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    said = [it for it in done.stderr.splitlines() if it.startswith("ERROR")]
    assert len(said) == 1
    assert "requires a different Python: 3.10" in said[0]


@pytest.mark.timeout(400)
@pytest.mark.parametrize("user", [1000, NOBODY], ids=["uid-1000", "no-passwd-entry"])
def test_it_needs_neither_a_home_nor_a_name_nor_its_own_folder(
    user: int, read_only: Installed, place: Path
) -> None:
    """As in a container, or under a unit: code that cannot be written to, a number for a user."""
    installed = replace(read_only, folder=place, user=user)
    installed.is_whole()
    installed.comes_up("serve")
    written = subprocess.check_output(
        ["find", read_only.venv, "-newer", place.parent / "venv" / "pyvenv.cfg", "-user", str(user)]
    )
    assert written == b""


@pytest.mark.timeout(400)
def test_uv_installs_it_as_a_tool(wheel: Path, tmp_path: Path) -> None:
    """With the newest versions of what it stands on, as README.md says it."""
    interpreter = python("3.13") or python("3.12") or python("3.11")
    places = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    subprocess.run(
        [UV, "tool", "install", "--quiet", "--python", interpreter, wheel],
        env=os.environ | places,
        check=True,
    )
    installed = Installed(tmp_path / "tools" / "prazo", folder=tmp_path)
    installed.is_whole()
    installed.comes_up("serve")
    assert (tmp_path / "bin" / "prazo").exists()


@pytest.mark.timeout(400)
def test_the_demo_needs_no_home_either(read_only: Installed, place: Path) -> None:
    replace(read_only, folder=place, user=NOBODY).comes_up("demo")


@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", ["with a blank", "with#hash", "with%41", "João & 'Ana'"])
def test_folders_may_have_such_names(name: str, read_only: Installed, place: Path) -> None:
    """A `#` or a `%` begins something else in an address of SQLite."""
    (place / name).mkdir()
    (place / name).chmod(0o777)
    installed = replace(
        read_only, folder=Path("/"), user=NOBODY, environment={"PRAZO_HOME": str(place / name)}
    )
    installed = replace(installed, folder=place / name)
    installed.is_whole()
    installed.comes_up("serve")
    assert (place / name / "data" / "inbox.db").exists()


def test_a_folder_with_a_question_mark_is_refused_in_one_line(
    read_only: Installed, place: Path
) -> None:
    (place / "what?").mkdir()
    installed = replace(read_only, folder=place, environment={"PRAZO_HOME": str(place / "what?")})
    for command in ("serve", "doctor", "show"):
        done = installed.run(command, *(["watchlist"] if command == "show" else []))
        said = [it for it in done.stderr.splitlines() if it.startswith("Error")]
        assert done.returncode == 2
        assert len(said) == 1
        assert "has a ? or a backslash in its name" in said[0]
    assert list((place / "what?").iterdir()) == []


@pytest.mark.timeout(400)
def test_it_listens_on_ipv6(read_only: Installed, place: Path) -> None:
    at = {"PRAZO_RECEIVER_HOST": "::1", "PRAZO_DASHBOARD_HOST": "::1"}
    replace(read_only, folder=place, environment=at).comes_up("serve", host="[::1]")


@pytest.mark.timeout(400)
def test_people_have_their_letters_in_a_latin_1_locale(read_only: Installed, place: Path) -> None:
    installed = replace(read_only, folder=place, environment=_locale("ISO-8859-1", place))
    installed.is_whole()
    installed.comes_up("serve")
    done = installed.run(
        "show", "quarantine", "--unmask", "why", "--actor", "João".encode("latin-1")
    )
    assert done.returncode == 0, done.stderr
    shown = installed.run(
        "show", "log_entries", "--where", "kind=unmask", "--format", "json"
    ).stdout
    assert '"actor": "João"' in shown  # JSON is UTF-8 anywhere


@pytest.mark.timeout(400)
def test_letters_beyond_ascii_are_refused_in_one_line_in_an_ascii_locale(
    read_only: Installed, place: Path
) -> None:
    """Guessing what they mean would record somebody else's name."""
    installed = replace(read_only, folder=place, environment=_locale("ANSI_X3.4-1968", place))
    installed.is_whole()
    installed.comes_up("serve")
    done = installed.run("show", "quarantine", "--unmask", "why", "--actor", "João")
    assert done.returncode == 2
    said = [it for it in done.stderr.splitlines() if it.startswith("Error")]
    assert len(said) == 1
    assert "is not in UTF-8: set the terminal" in said[0]


def _locale(charset: str, place: Path) -> dict[str, str]:
    """The variables of a locale with that charset, which is made here."""
    compile_it = ["localedef", "-i", "pt_BR", "-f", charset, place / "odd"]
    made = subprocess.run(compile_it, capture_output=True, text=True, check=False)
    if not (place / "odd" / "LC_CTYPE").exists():
        pytest.skip(f"no such locale can be made here: {made.stderr}")
    return {"LC_ALL": "odd", "LOCPATH": str(place)}
