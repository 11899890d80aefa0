"""Filters of a list in a real browser, which sends what is chosen by the words that it shows."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.app_pages.support.occurrences import AS_OF, before, review
from tests.support.dashboard import Reader

HISTORY = [
    review("prc_0", before(days=50)),
    review("prc_1", before(days=40)),
    review("prc_2", before(days=50), kind="ACP"),
]


@pytest.fixture(scope="module")
def tab(browser: Browser, url: str) -> Iterator[Reader]:
    page = browser.new_page(locale="en-GB", viewport={"width": 1440, "height": 1100})
    page.set_default_timeout(12_000)
    yield Reader(page, url)
    page.close()


def test_what_is_chosen_from_a_folded_list_stays_when_its_number_changes(tab: Reader) -> None:
    """The list shows "Start a collection (3)", and was not asked for it any more as soon as that
    was another number: after two clicks on other filters the action was no filter."""
    page = tab.open(f"/watchlist?as_of={AS_OF}&action=start_collection").page
    chosen, folded = (
        page.get_by_test_id("stMultiSelect"),
        page.locator(".st-key-more_filters button"),
    )
    folded.click()
    chosen.get_by_text("Start a collection (3)").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="ACI (2)").click()
    tab.settled()
    folded.click()
    chosen.get_by_text("Start a collection (2)").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("radio", name="All (2)").click()
    page.wait_for_url(re.compile("queue=all"))
    tab.settled()
    assert "action=start_collection" in page.url
    folded.click()
    chosen.get_by_text("Start a collection (2)").wait_for()
    assert tab.complaints == []


@pytest.mark.long
def test_what_a_grid_offers_does_not_stand_over_the_filters_above_it(tab: Reader) -> None:
    """With the pointer on a row, it took the clicks of the filters: of *Next action* on a screen,
    of whatever was in sight on a phone, where a tap on a row left it there."""
    page = tab.open(f"/watchlist?as_of={AS_OF}").page
    grid, offered = page.get_by_test_id("stDataFrame"), page.get_by_test_id("stElementToolbar")
    grid.hover()
    offered.wait_for()
    around, box = grid.bounding_box(), offered.bounding_box()
    assert around is not None
    assert box is not None
    assert around["y"] <= box["y"]
    assert box["y"] + box["height"] <= around["y"] + around["height"] + 1
    page.set_viewport_size({"width": 390, "height": 844})
    grid.hover()
    assert not offered.is_visible()
