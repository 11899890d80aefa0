"""What commands print and write: nothing from outside is obeyed, no link is followed, and what may
be missing is said."""

import os
import re
import subprocess
import sys
from contextlib import closing, nullcontext
from pathlib import Path

import click
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from pipeline.cli import group, main, terminal
from pipeline.cli.views import show
from pipeline.continuity.service import LedgerService
from pipeline.errors import OperatorError
from pipeline.files.disk import write_whole
from pipeline.inbox import open_inbox
from pipeline.ledger.views import formats
from pipeline.serve import ledger_access
from tests.support.stores import settings_in

EVIL = "\x1b]0;VERIFIED\x07\u202e\nVERIFIED"
SHOWN = r"\x1b]0;VERIFIED\x07\u202e\nVERIFIED"
ROWS = formats.Shown(0, ["seller_id"], [{"seller_id": EVIL}])
CLI = Path(group.__file__).parent
PRINTING = re.compile(r"\bclick\.s?echo\(|(?<![\w.])print\(|sys\.std(?:out|err)\.write\(")


def test_commands_print_by_one_function_that_escapes() -> None:
    """Nearly sixty calls printed ids, reasons and file names as they came."""
    found = {
        path.name: PRINTING.findall(path.read_text(encoding="utf-8")) for path in CLI.rglob("*.py")
    }
    assert {name: calls for name, calls in found.items() if calls} == {"group.py": ["click.echo("]}


def test_an_errors_own_lines_are_lines_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def fails() -> None:
        raise OperatorError(f"what {EVIL}", f"why {EVIL}", f"remedy {EVIL}")

    monkeypatch.setitem(main.commands, "fails", fails)
    result = CliRunner().invoke(main, ["fails"])
    assert result.stderr == f"Error: what {SHOWN}: why {SHOWN}\n  To fix it: remedy {SHOWN}\n"


def test_a_table_shows_text_as_it_is(tmp_path: Path) -> None:
    terminal.print_rows(ROWS, 1, tmp_path / "table")
    assert SHOWN in (tmp_path / "table").read_text()
    assert "\x1b" not in (tmp_path / "table").read_text()


@pytest.mark.parametrize("form", ["table", "csv"])
def test_a_file_to_write_replaces_a_link_and_never_follows_it(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """`prazo show --out` opened it: anyone who may make a link chose what was overwritten."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    open_inbox(environment["PRAZO_INBOX"]).close()
    victim, out = tmp_path / "victim", tmp_path / "out"
    victim.write_text("mine")
    out.symlink_to(victim)
    ended = CliRunner().invoke(main, ["show", "ledger_health", "--format", form, "--out", str(out)])
    assert ended.exit_code == 0, ended.output
    assert victim.read_text() == "mine"
    assert not out.is_symlink()
    assert "tree_size" in out.read_text()


def test_what_is_not_a_file_is_not_replaced_by_one(tmp_path: Path) -> None:
    """As root, `--out /dev/null` made a file of the device."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for place in (pipe, tmp_path):
        with pytest.raises(FileExistsError):
            write_whole(place, b"seller_id\n")
    assert pipe.is_fifo()


def test_a_file_says_no_id_that_it_was_asked_by(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows and its name were masked, and inside stood the CPF of the filter."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    open_inbox(environment["PRAZO_INBOX"]).close()
    out = tmp_path / "one.parquet"
    one = ["--where", "seller_id=52998224725", "--format", "parquet", "--out", str(out)]
    assert CliRunner().invoke(main, ["show", "denials", *one]).exit_code == 0
    assert pq.read_schema(out).metadata[b"prazo.where seller_id"] == b"***25"


def test_rows_of_a_ledger_that_cannot_read_its_inbox_are_not_called_the_newest(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the database of the inbox was down, the holder could not say how far it was behind. So
    `prazo show` showed its rows, said nothing and ended with 0."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with closing(LedgerService(settings_in(tmp_path))) as service:
        held = ledger_access.OwnLedger(service)
        monkeypatch.setattr(held, "problem", lambda: "nobody can read the inbox")
        monkeypatch.setattr(ledger_access, "open_ledger", lambda *_, **__: nullcontext(held))
        ended = CliRunner().invoke(show, ["ledger_health"])
    assert (ended.exit_code, ended.stderr) == (
        1,
        "The ledger does not follow its inbox: nobody can read the inbox\n",
    )
    assert "entries" in ended.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["backup", ""], "it is empty: name a folder"),
        (["show", "process_state", "--limit", str(2**63)], "Invalid value for '--limit'"),
    ],
)
def test_what_no_command_can_take_is_named(words: list[str], said: str) -> None:
    """A variable that is not set made the folder that the command runs in a backup; a limit that
    DuckDB does not know was called a filter that does not fit."""
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert said in done.output


@pytest.mark.parametrize("form", ["parquet", "xlsx"])
def test_no_terminal_gets_what_is_not_text(tmp_path: Path, form: str) -> None:
    """It would obey what is in it."""
    ours, its = os.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "pipeline.cli", "show", "watchlist", "--format", form],
        cwd=tmp_path,
        stdin=its,
        stdout=its,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(its)
    os.close(ours)
    assert done.returncode == 2
    assert f"no terminal shows {form}: give --out FILE" in done.stderr
