"""The officer's ten jobs in a real browser: by mouse, and in a long run by the keyboard alone, too;
and what else a click or a finger opens.

The clicks of each are counted and asserted; the seconds that it took are printed, and depend on the
machine. One server and one tab go through them all.
"""

import hashlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, ViewportSize

from pipeline import instants
from pipeline.alert import entries
from pipeline.alert.entries import Due, Subject
from pipeline.inbox import open_inbox
from tests.app_pages.support.occurrences import attempt, review, seller_event
from tests.support.dashboard import FITS, Reader

TODAY = datetime.now(UTC).replace(microsecond=0)
ROW, HEAD = 36, 36
DESK: ViewportSize = {"width": 1440, "height": 1100}
LAPTOP: ViewportSize = {"width": 1280, "height": 720}
PHONE: ViewportSize = {"width": 390, "height": 844}
NARROWEST = 320
"""A page of this width is read without scrolling sideways (WCAG 1.4.10): the lines above a list
scroll by themselves. Streamlit's own style had the better of ours, and the whole page did."""
ZOOMED = 660
"""Of a laptop's window at 200 %: a list's card stands beside it, and has little room."""
MOST_PRESSES = 90
"""From one thing to the next: further away nobody looks for it with Tab."""
HAS_FOCUS = "it => it === document.activeElement || it.contains(document.activeElement)"
SQUEEZED = """() => {
    const texts = '[data-testid="stMetric"] *, .st-key-card button *'
    const cut = [...document.querySelectorAll(texts)].filter(
        it => getComputedStyle(it).textOverflow === 'ellipsis' && it.scrollWidth > it.clientWidth)
    const narrow = [...document.querySelectorAll('[class*="st-key-todo_"] > :first-child')].filter(
        it => it.clientWidth < 300)
    return [...cut, ...narrow].map(it => it.innerText)
}"""
"""What a figure counts, what a card offers and what there is to do, where it is not shown well."""
CARD_HAS_FOCUS = "() => document.activeElement.matches('.st-key-card')"
IS_NEAR = "it => it.closest('[role=radiogroup]')?.contains(document.activeElement) ?? false"


def before(**how_long: float) -> datetime:
    return TODAY - timedelta(**how_long)


HISTORY = [
    # Expired in this month, wherever in it today is, or it is its first day and nothing is.
    review("prc_expired", before(days=30, minutes=5), seller="sel_ana"),
    review("prc_soon", before(days=29), seller="sel_ana"),
    review("prc_later", before(days=20), seller="sel_bia"),
    review("prc_new", before(hours=1), seller="sel_bia", kind="ACP"),
    *attempt("prc_later", before(days=2), status=500, seller="sel_bia"),
    seller_event("sel_ana", "enabled", before(days=90), taxpayer="52998224725", last_name="Oliva"),
    seller_event("sel_bia", "enabled", before(days=90), taxpayer="11144477735", last_name="Olívar"),
    seller_event(
        "sel_caio",
        "denied",
        before(days=1),
        decision_reasons=[{"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"}],
        retry=True,
    ),
]


class Hand:
    """Does what a person does, and counts their clicks."""

    takes: tuple[int, str] = (1, "prc_later")
    """Which row of the watchlist it assigns, and which process that is."""
    has: str = "1 process"
    """What is its own afterwards."""

    def __init__(self, tab: Reader) -> None:
        self.tab, self.clicks, self.presses = tab, 0, 0

    def click(self, what: Locator) -> None:
        what.click()
        self.clicks += 1
        self.tab.settled()

    def click_row(self, number: int) -> None:
        """One of the rows of the first grid, anywhere but on its box."""
        box = self.tab.page.locator('[data-testid="stDataFrame"] canvas').first.bounding_box()
        assert box is not None
        self.tab.page.mouse.click(box["x"] + 300, box["y"] + HEAD + ROW * number + ROW / 2)
        self.clicks += 1
        self.tab.settled()

    def write(self, where: Locator, text: str) -> None:
        """Into a field; it is counted as a field, and not as a click."""
        where.fill(text)


class Keys(Hand):
    """The same by the keyboard alone: Tab and Enter, arrows in a grid and between choices. A click
    is what Enter or Space does."""

    takes = (2, "prc_new")
    has = "2 processes"

    def click(self, what: Locator) -> None:
        self.reach(what)
        self.press("Space" if what.get_attribute("role") == "radio" else "Enter")
        self.clicks += 1
        self.tab.settled()

    def click_row(self, number: int) -> None:
        self.reach(self.tab.page.locator('[data-testid="data-grid-canvas"]'))
        for _ in range(number):
            self.press("ArrowDown")
        self.clicks += 1
        self.tab.settled()

    def write(self, where: Locator, text: str) -> None:
        self.reach(where)
        self.tab.page.keyboard.type(text)

    def press(self, key: str) -> None:
        self.tab.page.keyboard.press(key)
        self.presses += 1

    def reach(self, what: Locator) -> None:
        """Tab until it has the focus, or holds what has; arrows within a group of choices."""
        what.first.wait_for()
        for _ in range(MOST_PRESSES):
            if what.first.evaluate(HAS_FOCUS):
                self.tab.settled()  # cells that were passed may have drawn the page again
                if what.first.evaluate(HAS_FOCUS):
                    return
            self.press("ArrowRight" if what.first.evaluate(IS_NEAR) else "Tab")
        raise AssertionError(f"the keyboard does not reach {what}")


def most_urgent_and_why(hand: Hand) -> None:
    page = hand.tab.page
    hand.click(page.locator("header").get_by_role("link", name="Watchlist"))
    page.locator("code").get_by_text("prc_soon", exact=True).wait_for()
    page.get_by_text("A submission is still in time").wait_for()


def assign(hand: Hand) -> None:
    number, process = hand.takes
    hand.click_row(number)
    # The card of another row has the same button until this one's is drawn.
    hand.tab.page.locator("code").get_by_text(process, exact=True).wait_for()
    hand.tab.settled()
    hand.click(hand.tab.page.get_by_role("button", name="Assign to me"))
    hand.tab.page.get_by_text("Assigned to Ana", exact=True).wait_for()
    # The button takes no press any more, and Tab would begin at the top of the page.
    hand.tab.page.wait_for_function(CARD_HAS_FOCUS)


def mine(hand: Hand) -> None:
    hand.click(hand.tab.page.get_by_role("radio", name="Mine"))
    hand.tab.page.get_by_text(hand.has, exact=True).wait_for()


def expired_aci_this_month(hand: Hand) -> None:
    page = hand.tab.page
    hand.click(page.get_by_role("button", name="Views"))
    hand.click(page.get_by_role("button", name="Expired ACI, due this month"))
    page.wait_for_url(lambda url: {"state=EXPIRED", "type=ACI", "period=this_month"} <= asked(url))


def asked(url: str) -> set[str]:
    """What stands in a URL behind the question mark."""
    return set(url.partition("?")[2].split("&"))


def send_the_list(hand: Hand) -> None:
    """Whoever reads the clipboard finds the page's own address, with all that was chosen on it."""
    page = hand.tab.page
    page.context.grant_permissions(["clipboard-read"])
    hand.click(page.get_by_role("button", name="Copy link"))
    page.get_by_text("The link to this page, as it is, is copied.").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    assert page.url.endswith("/watchlist?queue=expired")


def last_friday(hand: Hand) -> None:
    page = hand.tab.page
    hand.click(hand.tab.menu("View as of"))
    hand.click(page.get_by_role("button", name="Last Friday"))
    page.get_by_text("You are looking at").wait_for()


def find_by_tax_id(hand: Hand) -> None:
    page = hand.tab.page
    hand.click(page.get_by_placeholder("Process, seller, tax id, name"))
    page.keyboard.type("111.444.777-35")
    page.keyboard.press("Enter")
    page.wait_for_url("**/seller?seller_id=sel_bia**")


def find_by_name(hand: Hand) -> None:
    """Without the mouse: several fit, and the arrows lead to the one who calls."""
    page = hand.tab.page
    page.keyboard.press("/")
    page.keyboard.type("bia sel")  # no id has that, and no name
    page.keyboard.press("Enter")
    page.get_by_text("Nothing in the log fits").wait_for()
    page.keyboard.press("Escape")
    page.locator(".st-key-found").wait_for(state="detached")
    page.keyboard.press("Control+k")
    page.keyboard.type("OLIVA aná")
    page.keyboard.press("Enter")
    page.locator(".st-key-found").get_by_text("EXPIRED").wait_for()
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/seller?seller_id=sel_bia**")


def since_yesterday(hand: Hand) -> None:
    hand.click(hand.tab.page.locator("header").get_by_role("link", name="What changed"))
    hand.tab.page.get_by_text("1 change", exact=True).or_(
        hand.tab.page.get_by_text(" changes")
    ).first.wait_for()


def reasons_by_month(hand: Hand) -> None:
    page = hand.tab.page
    hand.click(page.locator('a[href*="denials"]').filter(has_text="View denials"))
    hand.click(page.get_by_role("radio", name="Month", exact=True))
    page.get_by_text("for a reason in a month").wait_for()


def rows_of_a_figure(hand: Hand) -> None:
    """As CSV; in SQL and in a notebook they are there after the first of these clicks."""
    page = hand.tab.page
    hand.click(page.locator("summary").filter(has_text="Table and query").first)
    page.get_by_text("rows = pandas.read_parquet").first.wait_for()
    with page.expect_download():
        hand.click(page.get_by_role("button", name="CSV for programs", exact=True).first)


def package_for_a_seller(hand: Hand) -> None:
    """Of one quarter, this one."""
    page = hand.tab.page
    hand.click(page.get_by_role("link", name="Export evidence"))
    hand.click(page.locator(".st-key-quarter").get_by_role("radio").nth(1))
    hand.write(page.get_by_label("Why is it needed?"), "an audit")
    hand.click(page.get_by_role("button", name="Make the package"))
    page.get_by_text("The package is ready").wait_for(timeout=60_000)
    with page.expect_download():
        hand.click(page.get_by_role("button", name="Download the package"))


JOBS: list[tuple[Callable[[Hand], None], str | None, int]] = [
    (most_urgent_and_why, "/", 1),
    (assign, None, 2),
    (mine, None, 1),
    (expired_aci_this_month, None, 2),
    (send_the_list, "/watchlist?queue=expired", 1),
    (since_yesterday, None, 1),
    (last_friday, "/watchlist", 2),
    (reasons_by_month, "/", 2),
    (rows_of_a_figure, "/denials", 2),
    (find_by_tax_id, None, 1),
    (package_for_a_seller, None, 4),
    (find_by_name, "/watchlist", 0),
]
"""Each job, the page that it begins on (None: where the one before has led), and its clicks."""


@pytest.fixture(scope="module")
def folder(folder: Path) -> Path:
    """With an alert that was raised. It stands there before the first question is asked: an answer
    is shared for half a minute, whatever came in since."""
    deadline = instants.from_datetime(before(minutes=5))
    expired = hashlib.sha256(f"expired:{deadline}:prc_expired".encode()).hexdigest()[:32]
    due = Due(expired, "expired", "breach", "officer", 0)
    subject = Subject(process_id="prc_expired", seller_id="sel_ana")
    with closing(open_inbox(str(folder / "inbox.db"))) as inbox:
        inbox.append([entries.raised(due, subject, instants.now())])
    return folder


@pytest.fixture(scope="module")
def hand(browser: Browser, url: str) -> Iterator[Hand]:
    page = browser.new_page(locale="en-GB", viewport=DESK, has_touch=True)
    page.set_default_timeout(12_000)
    page.context.add_cookies([{"name": "prazo_name", "value": "Ana", "url": url}])
    yield Hand(Reader(page, url).open("/dictionary"))  # which asks little
    page.close()


def test_ten_jobs_take_few_clicks(hand: Hand, capsys: pytest.CaptureFixture[str]) -> None:
    tab, page = hand.tab, hand.tab.page
    go(tab, "/")  # as Ana, whose browser remembers her name
    tab.menu("Ana").wait_for()
    took = []
    for job, path, clicks in JOBS:
        if path is not None and tab.page.url != tab.url + path:
            go(tab, path)
        hand.clicks, began = 0, time.monotonic()
        job(hand)
        took.append((job.__name__, hand.clicks, time.monotonic() - began))
        assert hand.clicks == clicks, job.__name__
    with capsys.disabled():
        for name, count, seconds in took:
            sys.stdout.write(f"\n  {type(hand).__name__}: {name}, {count} clicks, {seconds:.1f} s")
    go(tab, "/process?process=prc_later")
    page.get_by_role("button", name="Call or letter").click()
    page.get_by_role("radio", name="reached").click()
    page.get_by_role("button", name="Record the call or letter").dblclick()
    said = page.locator("summary").get_by_text("Call or letter", exact=True)
    said.first.wait_for()
    tab.settled()
    assert said.count() == 1  # a second one was recorded six milliseconds after the first
    assert tab.complaints == []


def test_from_the_bell_an_alert_is_snoozed_on_a_laptop_without_scrolling(hand: Hand) -> None:
    """*Why can it wait?* and *Snooze* stood below the window."""
    tab, page = hand.tab, hand.tab.page
    page.set_viewport_size(LAPTOP)
    try:
        go(tab, "/findings")
        hand.clicks = 0
        hand.click(page.get_by_role("link", name="to act on"))
        page.locator('[data-testid="stDataFrame"] canvas').first.wait_for()
        hand.click_row(1)  # the other breach is older
        snooze = page.locator(".st-key-card").get_by_role("button", name="Snooze")
        snooze.wait_for()
        foot = page.locator(".st-key-freshness_line").bounding_box()
        box = snooze.bounding_box()  # below the question why
        assert box is not None
        assert foot is not None
        assert box["y"] + box["height"] <= foot["y"]
        page.get_by_label("Why can it wait?").fill("she is ill")
        hand.click(snooze)
        page.get_by_text("Snoozed until Monday").first.wait_for()
        assert hand.clicks == 3
    finally:
        page.set_viewport_size(DESK)


def test_one_click_makes_the_package_of_an_id_that_was_just_typed(hand: Hand) -> None:
    """Leaving the field drew the page again, and the click that left it was lost now and then."""
    tab, page = hand.tab, hand.tab.page
    go(tab, "/evidence?list=package")
    page.get_by_label("Why is it needed?").fill("yearly audit")
    page.get_by_placeholder("prc_…").fill("prc_expired")
    page.get_by_role("button", name="Make the package").click()
    page.get_by_text("The package is ready").wait_for(timeout=30_000)


@pytest.mark.long
def test_a_bar_and_a_cell_lead_to_their_rows(hand: Hand) -> None:
    tab, page = hand.tab, hand.tab.page
    for path, mark, led in (
        ("/denials", ".st-key-denial_weeks .scatterlayer path", "reason=DOCUMENT"),
        (
            "/submissions?via=gateway&of=nobody&sort=via",
            ".st-key-outcomes_by_attempt .barlayer path",
            "/submissions?outcome=platform_error&place=1",
        ),
    ):
        go(tab, path)
        page.locator(mark).first.scroll_into_view_if_needed()
        box = page.locator(mark).first.bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_url(f"**{led}**")
        tab.settled()
    page.locator(".st-key-facts").get_by_role("button", name="View first attempts").click()
    page.wait_for_url(lambda url: "place=1" in url and "outcome=" not in url)
    tab.settled()
    page.get_by_text("Attempts at place 1 of their process.").wait_for()


def test_a_phone_shows_the_first_row_opens_its_card_over_the_list_and_closes_the_drawer(
    hand: Hand,
) -> None:
    tab, page = hand.tab, hand.tab.page
    page.set_viewport_size(PHONE)
    try:
        go(tab, "/watchlist")
        grid = page.locator('[data-testid="stDataFrame"] canvas').first
        for width in (ZOOMED, PHONE["width"], NARROWEST):
            page.set_viewport_size({"width": width, "height": PHONE["height"]})
            page.wait_for_function(FITS)
            if width == ZOOMED:
                page.locator(".st-key-card button").first.wait_for()
                assert page.evaluate(SQUEEZED) == []
        page.set_viewport_size(PHONE)
        box = grid.bounding_box()
        assert box is not None
        assert box["y"] + 2 * ROW < PHONE["height"] / 2, "head and first row, without scrolling"
        card = page.locator(".st-key-card")
        assert not card.is_visible()
        page.touchscreen.tap(box["x"] + 150, box["y"] + ROW * 1.5)
        card.wait_for()
        page.get_by_role("button", name="Back to the list").wait_for()
        tab.settled()
        over = card.bounding_box()
        assert over is not None
        assert (over["x"], over["width"]) == (0, PHONE["width"])
        assert over["y"] < 100, "from below the header to the end of the screen"
        assert over["y"] + over["height"] == PHONE["height"]
        inside = (
            """card => card.contains(document.elementFromPoint(innerWidth / 2, innerHeight / 2))"""
        )
        assert card.evaluate(inside), "nothing of the list shows through"
        page.get_by_role("button", name="Back to the list").click()
        card.wait_for(state="hidden")
        assert "row=" not in tab.settled().query()

        page.locator('[data-testid="stExpandSidebarButton"]').click()
        page.get_by_role("link", name="Overview").click()
        page.get_by_role("heading", name="Overview").first.wait_for()
        page.wait_for_function(
            "() => document.querySelector('[data-testid=\"stSidebar\"]')"
            "?.getBoundingClientRect().right <= 1"
        )
        page.locator('[class*="st-key-todo_"]').first.wait_for()
        assert tab.settled().page.evaluate(SQUEEZED) == []
        assert tab.complaints == []
    finally:
        page.set_viewport_size(DESK)


@pytest.mark.long
def test_jobs_are_done_by_the_keyboard_alone(
    hand: Hand, capsys: pytest.CaptureFixture[str]
) -> None:
    """After the mouse, on the same pages, in the same session."""
    keys = Keys(hand.tab)
    took = []
    for job, path, clicks in JOBS:
        if path is not None:
            go(keys.tab, path)
        keys.clicks, keys.presses = 0, 0
        keys.tab.page.evaluate("document.activeElement?.blur()")
        job(keys)
        took.append((job.__name__, keys.presses))
        assert keys.clicks == clicks, job.__name__
    with capsys.disabled():
        for name, presses in took:
            sys.stdout.write(f"\n  Keys: {name}, {presses} key presses")
    go(keys.tab, "/process?process=prc_soon")
    page, keys.presses = keys.tab.page, 0
    keys.click(page.get_by_role("button", name="Write a note"))
    keys.write(page.get_by_label("Note", exact=True), "called")
    keys.press("Control+Enter")
    page.get_by_text("called", exact=True).wait_for()
    with capsys.disabled():
        sys.stdout.write(f"\n  Keys: a note, {keys.presses} key presses")
    page.keyboard.press("Escape")
    assert page.get_by_role("button", name="Write a note").evaluate(HAS_FOCUS)
    assert keys.tab.complaints == []


def go(tab: Reader, path: str) -> None:
    """To a page within the session, which remembers the reader's name."""
    tab.settled()  # a page that still comes would come after this one
    tab.page.keyboard.press("Escape")
    tab.go(path)


@pytest.mark.long
def test_ones_name_is_asked_once_and_forgotten_when_one_is_somebody_else(hand: Hand) -> None:
    tab, page = hand.tab, hand.tab.page
    page.context.clear_cookies()
    tab.open("/")
    tab.menu("Who are you?").click()
    page.get_by_label("Who are you?").fill("Ana")
    page.get_by_role("button", name="That is me").click()
    tab.menu("Ana").wait_for()
    page.wait_for_function("() => document.cookie.includes('prazo_name=Ana')")
    tab.open("/watchlist")  # a new session
    tab.menu("Ana").click()
    page.get_by_role("button", name="I am somebody else").click()
    tab.menu("Who are you?").wait_for()
    page.wait_for_function("() => !document.cookie.includes('prazo_name=')")
    tab.open("/watchlist")
    tab.menu("Who are you?").wait_for()
    assert tab.complaints == []
