"""How much a page sends to a browser that has it already: each message is an element to draw."""

from typing import Any

import pytest
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import before, review

HISTORY = [review(f"prc_{n:02}", before(days=50 - n), seller=f"sel_{n:02}") for n in range(10)]
MOST = {"watchlist": 110, "sellers": 97, "process": 88}
"""Messages of a page, while nothing on it is open: with all that its buttons open, the Watchlist
had 162."""


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of messages of each run of a page."""
    numbers: list[int] = []
    run = LocalScriptRunner.run

    def counted(runner: LocalScriptRunner, *asked: Any, **named: Any) -> Any:
        drawn = run(runner, *asked, **named)
        numbers.append(len(runner.forward_msgs()))
        return drawn

    monkeypatch.setattr(LocalScriptRunner, "run", counted)
    return numbers


@pytest.mark.usefixtures("folded", "bell")
def test_a_page_sends_nothing_of_what_its_buttons_open(
    open_log: OpenLog, visit: Visit, sent: list[int]
) -> None:
    with open_log(HISTORY):
        for page in MOST:
            visit(page, as_of=None)
    found = dict(zip(MOST, sent, strict=True))
    assert {page: n for page, n in found.items() if n > MOST[page]} == {}
