"""How much a page sends to a browser that has it already: each message is an element to draw."""

from functools import partial
from typing import Any

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import RerunData
from streamlit.testing.v1 import AppTest, local_script_runner
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import before, review
from tests.app_pages.support.reading import page_text

HISTORY = [review(f"prc_{n:02}", before(days=50 - n), seller=f"sel_{n:02}") for n in range(10)]
MOST = {"watchlist": 110, "sellers": 97, "process": 88}
"""Messages of a page, while nothing on it is open: with all that its buttons open, the Watchlist
had 162."""
MOST_OF_A_ROW = 45
"""Messages of a click on a row of the Watchlist."""

Messages = list[ForwardMsg]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Messages]:
    """What each run of a page has sent."""
    of_runs: list[Messages] = []
    run = LocalScriptRunner.run

    def noted(runner: LocalScriptRunner, *asked: Any, **named: Any) -> Any:
        drawn = run(runner, *asked, **named)
        of_runs.append(runner.forward_msgs())
        return drawn

    monkeypatch.setattr(LocalScriptRunner, "run", noted)
    return of_runs


@pytest.mark.usefixtures("folded", "bell")
def test_a_page_sends_nothing_of_what_its_buttons_open(
    open_log: OpenLog, visit: Visit, sent: list[Messages]
) -> None:
    with open_log(HISTORY):
        for page in MOST:
            visit(page, as_of=None)
    found = {page: len(messages) for page, messages in zip(MOST, sent, strict=True)}
    assert {page: n for page, n in found.items() if n > MOST[page]} == {}


def part_of_the_list(messages: Messages) -> str:
    """What Streamlit calls the part of the page that has its list."""
    elements = [message.delta for message in messages if message.delta.HasField("new_element")]
    grids = [it for it in elements if it.new_element.WhichOneof("type") == "dataframe"]
    [found] = {it.fragment_id for it in grids}
    return found


def click_in(app: AppTest, part: str) -> None:
    """Runs a page as a click in a part of it does, which Streamlit's test runner does not do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "RerunData", partial(RerunData, fragment_id=part))
        app.run()


@pytest.mark.usefixtures("folded", "bell")
def test_a_click_on_a_row_draws_the_list_and_its_card_and_another_order_the_page(
    open_log: OpenLog, visit: Visit, sent: list[Messages]
) -> None:
    with open_log(HISTORY):
        app = visit("watchlist", as_of=None)
        part = part_of_the_list(sent[-1])
        app.query_params["row"] = "prc_03"
        click_in(app, part)
        assert "prc_03" in page_text(app)
        assert len(sent[-1]) <= MOST_OF_A_ROW
        app.query_params["sort"] = "deadline_at"
        click_in(app, part)
        assert len(sent[-1]) > MOST_OF_A_ROW
