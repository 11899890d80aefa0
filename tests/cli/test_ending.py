"""A command leaves at once, and leaves nothing undone."""

import atexit
import errno
import io
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import duckdb
import pytest
from click.testing import CliRunner

from pipeline import signals
from pipeline.cli import group, terminal
from pipeline.cli.group import _Ending, bars, main, say
from pipeline.ledger.views.catalogue import public
from tests import depth

COMMAND = """
import atexit, sys, tempfile, threading, time
from pathlib import Path
from pipeline.cli import main, run

class Large:
    def __del__(self):
        print("taken apart", file=sys.stderr)

large = Large()

@main.command()
def ends():
    folder = tempfile.TemporaryDirectory()
    Path("folder").write_text(folder.name)
    atexit.register(Path("called").touch)
    threading.Thread(target=lambda: [time.sleep(0.2), Path("joined").touch()]).start()
    sys.stdout.write("x" * 300_000 + "end")
    large.folder = folder
    HOW

sys.argv = ["prazo", "ends"]
run()
"""


def ended(folder: Path, how: str, out: int = subprocess.PIPE) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", COMMAND.replace("HOW", how)]
    return subprocess.run(command, cwd=folder, stdout=out, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    ("how", "code"), depth.few([("sys.exit(3)", 3), ("pass", 0), ("sys.exit(None)", 0)], 3)
)
def test_all_is_done_that_is_to_be_done_at_an_end_and_nothing_else(
    how: str, code: int, tmp_path: Path
):
    process = ended(tmp_path, how)
    assert process.returncode == code
    assert process.stdout == "x" * 300_000 + "end"
    assert process.stderr == ""
    assert (tmp_path / "called").exists()
    assert (tmp_path / "joined").exists()
    assert not Path((tmp_path / "folder").read_text()).exists()


@pytest.mark.parametrize(
    ("how", "code", "said"),
    depth.few([("1 / 0", 1, "ZeroDivisionError"), ("sys.exit('no')", 1, "no")], 2),
)
def test_what_ends_in_another_way_ends_as_python_has_it(
    how: str, code: int, said: str, tmp_path: Path
):
    process = ended(tmp_path, how)
    assert process.returncode == code
    assert said in process.stderr
    assert "taken apart" in process.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, as Linux has it")
def test_output_that_could_not_be_written_is_not_a_success(tmp_path: Path):
    with Path("/dev/full").open("w") as full:
        process = ended(tmp_path, "pass", full.fileno())
    assert process.returncode != 0
    assert "No space left on device" in process.stderr


def test_a_command_whose_output_was_closed_before_ends_with_its_own_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With `>&-` each ended with a traceback."""
    codes: list[int] = []
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(logging, "shutdown", lambda: None)
    monkeypatch.setattr(os, "_exit", codes.append)
    ending = _Ending()
    ending.code = 3
    ending.leave()
    assert codes == [3]


def test_ctrl_c_during_a_query_ends_a_command_as_it_does_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DuckDB makes an error of its own of it: there was a traceback."""

    @click.command()
    def counts() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        # For half a second: now and then DuckDB looks for signals at its end alone.
        sql = "select count(*) from range(20000000) where range % $1 = random()"
        duckdb.connect().execute(sql, [7]).fetchall()

    monkeypatch.setitem(main.commands, "counts", counts)
    former = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        ended = CliRunner().invoke(main, ["counts"])
    finally:
        signal.signal(signal.SIGALRM, former)
    assert (ended.exit_code, ended.output.strip()) == (130, "Aborted!")
    assert isinstance(ended.exception, SystemExit)


@pytest.mark.parametrize("early", ["interrupt_by_signals", "main"])
def test_a_signal_before_the_arguments_are_read_ends_a_command_as_it_does_later(
    early: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Click ends it with 1 there, which is an answer: a part whose terminal was closed just after
    its start said nothing of that."""

    def hangs_up(*_: object, **__: object) -> None:
        monkeypatch.setattr(signals._Heard, "number", signal.SIGHUP)
        raise KeyboardInterrupt

    if early == "main":
        monkeypatch.setattr(click.Group, "make_context", hangs_up)
        monkeypatch.setattr(signals, "interrupt_by_signals", lambda: None)
    else:
        monkeypatch.setattr(signals, early, hangs_up)
    monkeypatch.setattr(atexit, "register", lambda _: None)
    with pytest.raises(SystemExit) as ended:
        group.run()
    assert (ended.value.code, capsys.readouterr().err.strip()) == (129, "Aborted!")


class Nowhere(io.StringIO):
    """A pipe whose reader has gone, or a place on a full disk."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    def write(self, text: str) -> int:
        raise self.error


FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("out", "err", "steps", "code"),
    [
        (BrokenPipeError(), None, 2, 3),
        (None, BrokenPipeError(), 2, 3),
        (None, FULL, 2, 3),
        (FULL, None, 0, 1),
    ],
)
def test_a_command_goes_on_to_its_own_end_whoever_takes_its_words(
    out: OSError | None,
    err: OSError | None,
    steps: int,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With `| head` the second file was not ingested and a package with faults ended with 0, a
    table with 1; without a place for errors, commands with a bar ended with 1 when all was done.
    On a full disk what was done "was not done", to be run again: a key was rotated twice."""
    taken = []

    @click.command()
    def takes() -> None:
        with bars() as shown:
            for step in range(2):
                shown.add_task("taken", total=1)
                say("one is bad", err=True)
                say("taken")
                terminal.print_views(public())
                taken.append(step)
        sys.exit(3)

    monkeypatch.setitem(main.commands, "takes", takes)
    if out is not None:
        monkeypatch.setattr(sys, "stdout", Nowhere(out))
    if err is not None:
        monkeypatch.setattr(sys, "stderr", Nowhere(err))
    with pytest.raises(SystemExit) as ended:
        main.main(["takes"], prog_name="prazo")
    assert (len(taken), ended.value.code) == (steps, code)
    if out is FULL:
        assert "Error: The output could not be written: No space left on device\n" in (
            capsys.readouterr().err
        )


def test_no_other_encoding_ends_a_command_with_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither what comes from a terminal in Latin-1, nor a name that one has no letters for."""
    for words in (
        ["ticket", "prc_1", "--closed", "--actor", "Jos\udce9"],
        ["show", "tickets", "--where", "actor=Jos\udce9"],
        ["calendar", "new", "--for", "Jos\udce9", "--actor", "ana"],
    ):
        refused = CliRunner().invoke(main, words)
        assert refused.exit_code == 2
        assert "Jos\\udce9' is not in UTF-8" in refused.output

    @click.command()
    def names() -> None:
        say("Łukasz José")

    monkeypatch.setitem(main.commands, "names", names)
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, "latin-1"))
    with pytest.raises(SystemExit) as ended:
        main.main(["names"], prog_name="prazo")
    assert (ended.value.code, shown.getvalue()) == (0, b"\\u0141ukasz Jos\xe9\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, as Linux has it")
@pytest.mark.parametrize(
    "words", [["--nosuch"], ["nosuch"], ["ingest", "--nosuch"], ["alerts", "nosuch"]]
)
def test_wrong_usage_ends_with_2_also_where_nothing_can_say_so(
    words: list[str], tmp_path: Path
) -> None:
    """It ended with 1, as a failed check does."""
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "pipeline.cli", *words]
        assert subprocess.run(command, cwd=tmp_path, stderr=full).returncode == 2


@pytest.mark.parametrize(
    ("words", "param"),
    [
        (["resume", "--process", ""], "--process"),
        (["submit", "", "--payload", __file__], "[PROCESS]"),
        (["ticket", "", "--closed", "--actor", "ana"], "PROCESS"),
        (["receive", "--host", ""], "--host"),
    ],
)
def test_an_empty_word_is_wrong_usage(words: list[str], param: str) -> None:
    """A variable that was not set had `prazo resume` say that nothing waits, and end with 1."""
    ended = CliRunner().invoke(main, words)
    assert ended.exit_code == 2
    assert f"Invalid value for '{param}': it is empty: leave it out" in ended.output


INTERRUPTED = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background has it ignored
sys.meta_path.insert(0, Interrupting())
import pipeline.cli
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""


@pytest.mark.parametrize(
    ("name", "code"), [("pipeline.cli.alerts", -signal.SIGINT), ("pipeline.none", 0)]
)
def test_ctrl_c_while_the_commands_are_loaded_ends_them_without_a_word(name: str, code: int):
    """It showed a traceback in the first half of a second."""
    program = INTERRUPTED.format(name=name)
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (code, "")
