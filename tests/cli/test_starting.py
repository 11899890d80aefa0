"""A command loads what it uses (docs/decisions/programs.md)."""

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.inbox import open_inbox

ASIDE = ("httpx", "jinja2", "streamlit", "pandas", "pipeline.audit.verify", "rich.progress")
"""Each takes a command some hundredths of a second, and rows need none of them."""

PROGRAM = f"""
import contextlib, sys
from pipeline.cli import main
with contextlib.suppress(SystemExit):
    main(sys.argv[1:], standalone_mode=False)
print("loaded:", [it for it in {ASIDE} if it in sys.modules])
"""


@pytest.mark.parametrize("command", ["show", "show watchlist"])
def test_rows_are_shown_without_what_only_audits_ask_others_or_draw(
    command: str, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    open_inbox(tmp_path / "data" / "inbox.db").close()
    program = [sys.executable, "-c", PROGRAM, *command.split()]
    shown = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    assert len(shown.stdout.splitlines()) > 1
    assert shown.stdout.splitlines()[-1] == "loaded: []"
