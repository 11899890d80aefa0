"""How much a page sends to a browser that has it already: each message is an element to draw."""

import pytest

from tests.app_pages.conftest import Messages, OpenLog, Visit
from tests.app_pages.support.occurrences import before, review
from tests.app_pages.support.parts import run_part
from tests.app_pages.support.reading import page_text

HISTORY = [review(f"prc_{n:02}", before(days=50 - n), seller=f"sel_{n:02}") for n in range(10)]
MOST = {"watchlist": 111, "sellers": 98, "process": 89}
"""Messages of a page, while nothing on it is open: with all that its buttons open, the Watchlist
had 162."""
MOST_OF_A_ROW = 45
"""Messages of a click on a row of the Watchlist."""


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


@pytest.mark.usefixtures("folded", "bell")
def test_a_click_on_a_row_draws_the_list_and_its_card_and_another_order_the_page(
    open_log: OpenLog, visit: Visit, sent: list[Messages]
) -> None:
    with open_log(HISTORY):
        app = visit("watchlist", as_of=None)
        part = part_of_the_list(sent[-1])
        app.query_params["row"] = "prc_03"
        run_part(app, part)
        assert "prc_03" in page_text(app)
        assert len(sent[-1]) <= MOST_OF_A_ROW
        app.query_params["sort"] = "deadline_at"
        run_part(app, part)
        assert len(sent[-1]) > MOST_OF_A_ROW
