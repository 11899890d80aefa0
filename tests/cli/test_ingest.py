"""`prazo ingest` with files that are not what they should be, and from a pipe."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import here
from tests.support.events import SAMPLES
from tests.support.stores import environment_in

INGEST = [sys.executable, "-m", "pipeline.cli", "ingest"]


@pytest.mark.parametrize(
    ("named", "said"), [("", "'' does not exist"), ("nosuch", "'nosuch'"), (".", "is a directory")]
)
def test_what_is_not_a_file_is_wrong_usage_and_begins_no_inbox(
    tmp_path: Path, named: str, said: str
) -> None:
    """Of an empty name, as a variable leaves that is not set, it said that . is a directory."""
    done = here("ingest", named, environment=environment_in(tmp_path), folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert [*tmp_path.iterdir()] == []


def test_of_very_many_bad_lines_the_first_are_named_and_the_others_counted(tmp_path: Path) -> None:
    """A file of another kind filled the terminal with each of its lines."""
    (tmp_path / "other.csv").write_text("a;b\n" * 103)
    done = here("ingest", "other.csv", environment=environment_in(tmp_path), folder=tmp_path)
    assert done.returncode == 1
    begun, *lines = done.stderr.splitlines()
    assert "a new log, prazo/" in begun
    assert len(lines) == 101
    assert lines[0].startswith("other.csv:1: not taken: ")
    assert lines[99].startswith("other.csv:100: not taken: ")
    assert lines[100] == "other.csv: not taken: and 3 more"
    assert "103 bad" in done.stdout


def test_a_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    """`prazo ingest <(zcat past.gz)` ended with "File or stream is not seekable"."""
    content = (SAMPLES / "occurrences.ndjson").read_bytes()
    command = [*INGEST, "/dev/fd/0"]
    done = subprocess.run(
        command,
        input=content,
        env=os.environ | environment_in(tmp_path),
        cwd=tmp_path,
        capture_output=True,
    )
    assert done.stdout.decode() == (
        "/dev/fd/0: 3 recorded, 0 already there, 0 of them in quarantine, 0 bad\n"
    )
    assert done.returncode == 0
