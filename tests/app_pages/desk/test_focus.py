"""Whoever works by the keyboard, or has the page read aloud, is where their work is after each act,
and is told that it was done."""

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser

from pipeline import instants
from pipeline.alert import entries
from pipeline.alert.entries import Due, Subject
from pipeline.inbox import open_inbox
from pipeline.log.entries import Draft
from tests import depth
from tests.app_pages.support.occurrences import review
from tests.support.dashboard import Reader
from tests.support.machine import wait_until

TODAY = datetime.now(UTC).replace(microsecond=0)
HISTORY = [
    review("prc_late", TODAY - timedelta(days=31)),
    review("prc_soon", TODAY - timedelta(days=28)),
]
HEAD, ROW = 36, 36
FOOT = 29
OPENED = '[data-testid="stPopoverBody"]'
IS_SEEN = """it => {
    const {left, top, width, height} = it.getBoundingClientRect()
    return it.contains(document.elementFromPoint(left + width / 2, top + height / 2))
}"""
IN_OPENED = f"() => document.activeElement.closest('{OPENED}') !== null"


@pytest.fixture(scope="module")
def tab(browser: Browser, folder: Path, url: str) -> Iterator[Reader]:
    def due() -> list[dict[str, Any]]:
        return httpx.get(f"{url}/api/views/alerts").json()  # type: ignore[no-any-return]

    # Its ledger may not have followed the inbox yet.
    wait_until(lambda: len({it["process_id"] for it in due()}) == len(HISTORY), pause=0.1)
    with contextlib.closing(open_inbox(str(folder / "inbox.db"))) as inbox:
        inbox.append([raised(it) for it in due()])
    page = browser.new_page(locale="en-GB", viewport={"width": 1440, "height": 1100})
    page.context.add_cookies([{"name": "prazo_name", "value": "Ana", "url": url}])
    yield Reader(page, url).open("/watchlist")
    page.close()


def raised(alert: dict[str, Any]) -> Draft:
    named = Due(*(alert[it] for it in ("alert_id", "kind", "severity", "role")), since=0)
    subject = Subject(alert["process_id"], alert["seller_id"])
    return entries.raised(named, subject, instants.now())


def open_by_key(tab: Reader, name: str) -> None:
    """As somebody does who came to the button by Tab; what it opens has the focus then."""
    tab.page.get_by_role("button", name=name, exact=True).focus()
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_function(IN_OPENED)


def comes_to(tab: Reader, selector: str) -> bool:
    """Whether the focus comes there; the test ends here where it does not."""
    tab.page.wait_for_function(f"() => document.activeElement.matches('{selector}')")
    return True


def test_a_card_keeps_what_is_being_done_on_it_as_its_row_becomes_the_chosen_one(
    tab: Reader,
) -> None:
    """Whoever came to it through the cells of the first row chose that row by it, a moment later:
    what they had opened was shut, and what they went on to type went nowhere."""
    page = tab.go("/watchlist").page
    opener = page.get_by_role("button", name="Write a note").element_handle()
    box = page.locator('[data-testid="stDataFrame"] canvas').first.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 300, box["y"] + HEAD + ROW / 2)
    page.wait_for_url("**row=prc_soon**")
    tab.settled()
    assert opener is not None
    assert opener.evaluate("it => it.isConnected")


def test_the_card_has_the_focus_once_a_form_on_it_is_done_and_closed(tab: Reader) -> None:
    """Tab went on at the top of the page. No button has it: Enter was meant for the one before."""
    page = tab.go("/watchlist").page
    open_by_key(tab, "Record a ticket")
    page.keyboard.press("Escape")
    assert comes_to(tab, '[data-testid="stPopoverButton"]')
    tab.settled()
    open_by_key(tab, "Record a ticket")
    page.keyboard.type("T-1")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Close the ticket").wait_for()
    assert comes_to(tab, ".st-key-card")
    assert page.locator(OPENED).count() == 0


def test_whoever_acts_by_keys_stays_there_takes_it_back_by_keys_and_hears_no_icons(
    tab: Reader,
) -> None:
    """On the page of a process Tab went on at its top, *Undo* was some forty presses away, and each
    icon was read by its English name."""
    page = tab.go("/process?process=prc_soon").page
    page.get_by_role("button", name="Assign to me").focus()
    page.keyboard.press("Enter")
    page.get_by_text("Assigned to Ana since").wait_for()
    page.wait_for_function("() => document.activeElement.matches('main *:not(button, :has(h1))')")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText").startswith("person_remove")
    assert page.get_by_role("img", name=" icon").count() == 0
    page.keyboard.press("Control+z")
    page.get_by_text("Undone.").first.wait_for(state="attached")
    page.get_by_text("Assigned to Ana since").wait_for(state="detached")


@pytest.mark.long
def test_rows_are_ticked_by_keys_and_no_name_of_a_button_spells_an_icon(tab: Reader) -> None:
    """The boxes of a list are not among the cells that arrows lead to. The help of a figure was
    called by the name of its icon, in English."""
    page = tab.go("/sellers").page
    page.locator('[data-testid="stDataFrame"] canvas').first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+Space")
    ask = page.get_by_role("button", name="Ask again (1)")
    ask.wait_for()
    # It stood below the window, and nothing said what can be done with what is ticked.
    was = page.viewport_size
    assert was is not None
    page.set_viewport_size({"width": 1280, "height": 402})
    assert ask.evaluate("it => it.getBoundingClientRect().bottom") <= 402 - FOOT
    page.set_viewport_size(was)
    for process in ("prc_late", "prc_soon"):  # the card has the same button for each
        page.get_by_role("button", name=f"Call or letter: {process}", exact=True).wait_for()
    tab.go("/").settled()
    assert page.get_by_role("button", name="Help for").count() > 0
    assert page.locator('[aria-label*=":material/"]').count() == 0


@pytest.mark.long
def test_the_list_is_two_skips_away_from_the_top_of_the_page(tab: Reader) -> None:
    """Some forty presses of Tab led there, through the navigation and all filters."""
    page = tab.go("/watchlist?lang=pt").page
    page.get_by_role("link", name="Ir para o conteúdo", exact=True).focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Ir para a lista"
    page.keyboard.press("Enter")
    assert comes_to(tab, '[data-testid="stDataFrame"] *')
    page.keyboard.press("ArrowDown")  # the keyboard works in it
    page.wait_for_url("**row=prc_late**")
    tab.go("/?lang=en")
    assert page.get_by_role("button", name="Skip to the list").count() == 0  # it has none


def test_whoever_opens_a_form_by_the_mouse_can_write_at_once(tab: Reader) -> None:
    """What they typed went nowhere, up to the first space."""
    page = tab.go("/process?process=prc_soon").page
    page.get_by_role("button", name="Write a note").click()
    assert comes_to(tab, "textarea")
    page.keyboard.press("Escape")


@pytest.mark.long
def test_the_comparison_that_was_asked_for_has_the_focus(tab: Reader) -> None:
    page = tab.go("/watchlist").page
    open_by_key(tab, "Compare")
    page.keyboard.press("Escape")
    assert comes_to(tab, '[data-testid="stPopoverButton"]')
    tab.settled()
    page.keyboard.press("Enter")
    page.wait_for_function(IN_OPENED)
    page.keyboard.press("Enter")
    assert comes_to(tab, ".st-key-compared")
    page.get_by_role("button", name="Stop comparing").focus()
    page.keyboard.press("Enter")
    assert comes_to(tab, ".st-key-card")


def test_an_alert_that_was_taken_opens_nothing_else(tab: Reader) -> None:
    """The form that puts an alert off stood open in the place of the one that had taken it."""
    page = tab.go("/alerts").page
    open_by_key(tab, "Take it")
    page.keyboard.press("Enter")
    page.get_by_text("Recorded for").wait_for()
    assert comes_to(tab, ".st-key-card")
    assert page.locator(OPENED).count() == 0


@pytest.mark.parametrize("width", depth.few([390, 1440], 2))
def test_a_form_that_is_done_closes_and_the_page_says_so_and_does_not_move(
    tab: Reader, width: int
) -> None:
    """It stayed open, and empty, over the line that it had added to the card: on a phone somebody
    recorded it once more."""
    page = tab.go("/watchlist?row=prc_soon").page
    page.set_viewport_size({"width": width, "height": 844})
    try:
        opener = page.get_by_role("button", name="Write a note")
        was = opener.bounding_box()
        open_by_key(tab, "Write a note")
        page.keyboard.type("called")
        page.keyboard.press("Control+Enter")
        said = page.get_by_role("status").filter(has_text="Recorded for prc_soon.")
        said.wait_for()
        assert page.locator(OPENED).count() == 0
        assert opener.bounding_box() == was
        page.locator(".st-key-done").get_by_role("button", name="Undo").click()
        page.get_by_role("status").filter(has_text="Undone.").wait_for()
    finally:
        page.set_viewport_size({"width": 1440, "height": 1100})


@pytest.mark.parametrize("size", depth.few([(390, 844), (1280, 720)], 2))
def test_what_a_long_form_lacks_is_in_sight_beside_what_records_it(
    tab: Reader, size: tuple[int, int]
) -> None:
    """The button lay over it, so that a press did nothing to be seen; on a phone fields lay over
    each other."""
    page = tab.go("/process?process=prc_soon").page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    try:
        page.get_by_role("button", name="Call or letter").click()
        record = page.get_by_role("button", name="Record the call or letter")
        record.click()
        lacking = page.get_by_text("What came of the call is still missing.")
        lacking.wait_for()
        page.wait_for_function(IS_SEEN, arg=lacking.element_handle())
        assert record.evaluate(IS_SEEN)
        box = page.locator(OPENED).bounding_box()
        assert box is not None
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= size[1]
        page.get_by_role("radio", name="no answer").click()  # it was said until the next press
        lacking.wait_for(state="hidden")
        page.keyboard.press("Escape")
    finally:
        page.set_viewport_size({"width": 1440, "height": 1100})


@pytest.mark.long
def test_a_calendar_lies_over_no_other_answer_of_its_form(tab: Reader) -> None:
    """It opened over what was just answered: how the seller was contacted, and what came of it."""
    page = tab.go("/process?process=prc_soon").page
    page.set_viewport_size({"width": 1280, "height": 720})
    try:
        page.get_by_role("button", name="Call or letter").click()
        page.get_by_role("spinbutton").first.click()
        page.get_by_role("application").wait_for()
        for answer in ("telephone", "letter", "reached", "wrong number"):
            assert page.get_by_role("radio", name=answer, exact=True).evaluate(IS_SEEN)
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
    finally:
        page.set_viewport_size({"width": 1440, "height": 1100})


@pytest.mark.long
def test_that_an_alert_was_put_off_is_read_beside_what_undoes_it(tab: Reader) -> None:
    """The reason was still in it: as if nothing had been recorded."""
    page = tab.go("/alerts").page
    why = page.get_by_label("Why can it wait?")
    why.fill("the seller is ill")
    why.press("Enter")
    page.locator(".st-key-done").get_by_text("Snoozed until").wait_for()
    tab.settled()
    assert why.input_value() == ""
