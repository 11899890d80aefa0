"""How pages stand on the screen in a real browser, in a long run: what moves while they come, and
whether the names on charts can be read.

One server, and one tab for all pages.
"""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from app_pages.parts import lists
from pipeline import instants
from pipeline.alert import entries
from pipeline.alert.entries import Due, Subject
from pipeline.alert.messages.links import Links
from pipeline.inbox import open_inbox
from tests import depth
from tests.app_pages.support.occurrences import (
    AS_OF,
    attempt,
    before,
    collected,
    review,
    seller_event,
)
from tests.support.dashboard import AXE, BACKGROUNDS, WCAG_22_AA, Reader, contrast

pytestmark = pytest.mark.long
"""That every page fits its window, and whom it is open to, is tried in `test_browser.py`."""

HISTORY = [
    *(review(f"prc_{n:03}", before(days=40, minutes=500 - n)) for n in range(60)),
    seller_event("sel_ana", "created", before(days=100)),
    seller_event(
        "sel_caio",
        "denied",
        before(days=9),
        decision_reasons=[{"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"}],
        retry=True,
        taxpayer="52998224725",
    ),
    seller_event("sel_new", "created", before(days=3), taxpayer="52998224725"),
    collected("prc_001", "invited", before(days=39)),
    collected("prc_001", "answered", before(days=39), fields={"owner.address.country_code": "BR"}),
    *attempt("prc_001", before(days=38), status=500),
]
LISTS = (
    "/watchlist",
    "/process",
    "/since",
    "/alerts",
    "/findings",
    "/submissions",
    "/denials",
    "/evidence",
)
PAGES = (
    "/",
    *LISTS,
    "/process?process=prc_001",
    "/seller?seller_id=sel_ana",
    "/trends",
    "/ledger",
    "/dictionary",
)
LEFT_BY_A_CLICK = ("/watchlist", "/alerts", "/denials", "/process?process=prc_001", "/dictionary")
"""A list, one of cards, one with charts, a page about one process, and one of plain text."""
assert {*PAGES}.issuperset(LEFT_BY_A_CLICK), "the test goes through these pages alone"
MOST = 0.1  # "good" as the Web Vitals have it
WATCH = """(() => {
    window.shifts = []
    new PerformanceObserver(list => window.shifts.push(...list.getEntries().map(it => ({
        by: it.value,
        after_input: it.hadRecentInput,
        up: it.sources.map(({previousRect: was, currentRect: is}) => was.y - is.y),
        what: it.sources.map(({node, previousRect: was, currentRect: is}) =>
            `${node?.innerText?.trim().slice(0, 20).replaceAll('\\n', ' ')}`
            + ` ${was.x},${was.y} to ${is.x},${is.y}`),
    })))).observe({type: 'layout-shift', buffered: true})
})()"""
FAR = 40
"""Pixels up or down; an element of another height moves what is below by more."""
CHART_NAMES = ", ".join(
    f".js-plotly-plot {part}"
    for part in (
        ".xtick text",
        ".ytick text",
        ".annotation-text",
        ".bartext-outside",
        ".legendtext",
    )
)

NARROWEST: ViewportSize = {"width": 320, "height": 1000}
IS_INSIDE = """it => {
    const own = it.getBoundingClientRect()
    const plot = it.closest('.js-plotly-plot').getBoundingClientRect()
    return own.left >= plot.left && own.right <= plot.right
}"""
PAPER: ViewportSize = {"width": 1030, "height": 1000}
"""The room between the margins of a landscape page."""
GROUNDS = """() => [...document.querySelectorAll('[data-testid="stMain"] *')]
    .filter(it => getComputedStyle(it).backgroundColor !== 'rgba(0, 0, 0, 0)')
    .map(it => it.outerHTML.slice(0, 200))"""
BROKEN_WORDS = """cells => cells.filter(it => {
    const text = document.createRange()
    text.selectNodeContents(it)
    return /^\\w+$/.test(it.innerText.trim()) && text.getClientRects().length > 1
}).map(it => it.innerText)"""
WINDOW: ViewportSize = {"width": 1440, "height": 1000}
PHONE: ViewportSize = {"width": 390, "height": 844}
TO_PRESS = (
    '[data-testid="stMain"] :is([data-testid="stButton"], [data-testid="stPopover"],'
    ' [data-testid="stPageLink"], [data-testid="stButtonGroup"] > [aria-label],'
    ' [data-testid="stPagination"]) :is(button, a):not(.st-key-filters *):visible'
)
LOWER_THAN_44 = """all => all.filter(it => it.getBoundingClientRect().height < 43.9)
    .map(it => [it.innerText, it.getBoundingClientRect().height])"""
LAPTOP: ViewportSize = {"width": 1280, "height": 900}
OPTIONS = '.st-key-filters [data-testid="stButtonGroup"]'
LINES = """groups => groups.map(
    it => new Set([...it.querySelectorAll('button')].map(it => it.getBoundingClientRect().y)).size)
"""
"""In how many lines each group of options stands."""
LEVELS = "labels => labels.map(it => it.getBoundingClientRect().y)"
TOPS = "groups => groups.map(it => it.querySelector('button').getBoundingClientRect().y)"
OVER_EACH_OTHER = """names => names.filter((it, number) => {
    const [one, next] = [it, names[number + 1]].map(it => it?.getBoundingClientRect())
    return next && one.right > next.left
}).map(it => it.textContent)"""
WIDTH_OF_AN_ID = """canvas => {
    let grid = canvas
    const set = name => getComputedStyle(grid).getPropertyValue(`--gdg-${name}`)
    while (!set('base-font-style')) grid = grid.parentElement
    const drawn = document.createElement('canvas').getContext('2d')
    drawn.font = `${set('base-font-style')} ${set('font-family')}`
    const margins = 2 * parseInt(set('cell-horizontal-padding'))
    return drawn.measureText('prc_6a0d71c51ee01834').width + margins
}"""
"""Of the contract's own, with what a cell leaves free on either side."""


@pytest.fixture(scope="module")
def tab(browser: Browser, url: str) -> Iterator[Reader]:
    context = browser.new_context(locale="pt-BR", viewport=WINDOW, has_touch=True)
    context.add_init_script(WATCH)
    yield Reader(context.new_page(), url).open("/dictionary")
    context.close()


def moved(tab: Reader) -> tuple[float, str]:
    """How far the page moved by itself, as the browser counts it, and what moved most."""
    tab.page.wait_for_function("() => !document.querySelector('[data-testid=\"stSkeleton\"]')")
    shifts = [it for it in tab.page.evaluate("shifts") if not it["after_input"]]
    most = max(shifts, key=lambda shift: float(shift["by"]), default={})
    return sum(it["by"] for it in shifts), " | ".join(most.get("what", ()))


def test_what_a_page_finds_stands_in_one_line_above_its_list_on_a_phone(tab: Reader) -> None:
    """It stood below the list: whoever looked for what is wrong saw none of it."""
    page = tab.go("/submissions").page
    page.set_viewport_size(PHONE)
    try:
        found = page.locator(".st-key-found_below").bounding_box()
        grid = page.locator('[data-testid="stDataFrame"]').first.bounding_box()
        assert found is not None
        assert grid is not None
        assert found["y"] + found["height"] <= grid["y"] <= PHONE["height"] / 2
        assert found["height"] < 40
        # It made the page 1,480 pixels wide, and the foot ended before its way to Ledger.
        assert tab.fits_soon()
        for said in page.locator(".st-key-freshness :is(.stMarkdownBadge, a)").all():
            box = said.bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= PHONE["width"]
    finally:
        page.set_viewport_size(WINDOW)


def test_no_page_moves_while_it_comes(tab: Reader) -> None:
    """Neither the first time, which is the cold one for the parts of Streamlit that only this page
    shows, nor after a click in the navigation: one page, and in a long run each.
    Before style and parts came with the page's head, five pages moved by 0.2 to 0.9."""
    far = {}
    for path in PAGES if depth.is_whole() else LEFT_BY_A_CLICK[:1]:
        by, what = moved(tab.open(path))
        far[path] = (by, what)
        if path not in LEFT_BY_A_CLICK:
            continue
        tab.page.evaluate("shifts.length = 0")
        tab.page.locator("header").get_by_role("link", name="Visão geral").click()
        tab.page.get_by_role("heading", name="Visão geral").wait_for()
        by, what = moved(tab.settled())
        far[f"from {path} to the overview"] = (by, what)
    too_far = [f"{name}: {by:.2f} {what}" for name, (by, what) in far.items() if by >= MOST]
    assert not too_far, "\n".join(too_far)


def test_nothing_on_the_overview_moves_far_while_its_links_are_fetched(tab: Reader) -> None:
    """The room of a figure's link was held open for that of a figure: 87 px in place of 18. Where
    the link came late, all below moved up by the rest."""
    tab.page.route("**/PageLink.*.js", lambda route: (time.sleep(1.5), route.continue_()))
    moved(tab.open("/"))
    tab.page.unroute("**/PageLink.*.js")
    far = [it for it in tab.page.evaluate("shifts.flatMap(it => it.up)") if abs(it) > FAR]
    assert far == []


def test_the_names_on_a_chart_can_be_read(tab: Reader) -> None:
    """Of the texts in an SVG image axe says nothing, so their contrast is measured here: in the
    dark on one page, and in a long run in the light and on both."""
    for scheme in depth.few([*reversed(BACKGROUNDS)], 2):
        tab.turn(scheme)
        for path in depth.few(["/denials", "/"], 2):
            tab.go(f"{path}?as_of={AS_OF}").page.wait_for_selector(CHART_NAMES)
            inks = tab.page.eval_on_selector_all(
                CHART_NAMES, "them => [...new Set(them.map(it => getComputedStyle(it).fill))]"
            )
            for ink in inks:
                assert contrast(ink, BACKGROUNDS[scheme]) >= 4.5, (path, scheme, ink)
    tab.turn("light")


def test_on_a_phone_options_stand_in_one_line_and_names_of_weeks_apart(tab: Reader) -> None:
    """Seven options stood in four lines, of which the last ones were out of sight beside them; the
    weeks of a chart were "11/0918/0925/09"."""
    page = tab.page
    page.set_viewport_size(PHONE)
    try:
        for path in ("/since", "/process"):
            tab.go(path).page.locator(OPTIONS).first.wait_for()
            assert set(page.locator(OPTIONS).evaluate_all(LINES)) == {1}, path
            assert tab.fits_soon(), path
        tab.go(f"/denials?as_of={AS_OF}")
        weeks = page.locator(".st-key-return_weeks .xtick text")
        weeks.first.wait_for()
        assert weeks.count() == 12
        assert weeks.evaluate_all(OVER_EACH_OTHER) == []
    finally:
        page.set_viewport_size(WINDOW)


def test_two_filters_of_those_who_came_back_stand_beside_each_other(tab: Reader) -> None:
    """The filter "Desde então" stood above "Nova tentativa", and both lines above the others."""
    page = tab.open(f"/denials?list=returned&as_of={AS_OF}&lang=pt").page
    page.get_by_text("Nova tentativa").filter(visible=True).first.wait_for()
    groups = page.locator(OPTIONS)
    assert groups.count() == 3  # the period, and these two
    assert len({round(it) for it in groups.evaluate_all(TOPS)}) == 1


def test_a_figures_way_to_its_rows_leads_into_their_list(tab: Reader) -> None:
    """The list stands far below: nothing seemed to come of a press."""
    page = tab.go(f"/denials?as_of={AS_OF}&lang=en").page
    page.get_by_text("View all denials").click()
    expect(page.locator("#rows")).to_be_in_viewport()


def test_the_labels_of_filters_are_in_one_line(tab: Reader) -> None:
    """That of a folded list stood seven pixels above those of options."""
    for path in ("/watchlist", "/alerts", f"/denials?as_of={AS_OF}"):
        page = tab.go(path).page
        page.locator(OPTIONS).first.wait_for()
        labels = page.locator('.st-key-filters [data-testid="stWidgetLabel"]')
        levels = {round(it) for it in labels.evaluate_all(LEVELS)}
        assert labels.count() > 2, path
        assert max(levels) - min(levels) <= 1, (path, levels)


def test_the_page_behind_an_alerts_link_is_for_a_thumb_and_leads_on(
    browser: Browser, folder: Path, url: str
) -> None:
    """Its button was 22 pixels high, as browsers draw one, and after it there was nothing."""
    due = Due("5f0c", "before_3d", "risk", "officer", 0, process_id="prc_001")
    with contextlib.closing(open_inbox(str(folder / "inbox.db"))) as inbox:
        inbox.append([entries.raised(due, Subject("prc_001"), instants.now())])
        link = Links(url, inbox.log_key).acknowledging(due.alert, "ana", instants.now())
    context = browser.new_context(locale="en", viewport=PHONE, has_touch=True)
    page = context.new_page()
    page.goto(link)
    page.locator("summary").tap()
    for what in page.locator("button, select, input, summary").all():
        box = what.bounding_box()
        assert box is not None
        assert box["height"] >= 48, what
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    page.evaluate(AXE)
    options = {"runOnly": {"type": "tag", "values": WCAG_22_AA}}
    assert page.evaluate("it => axe.run(document, it)", options)["violations"] == []
    page.get_by_role("button", name="Confirm").tap()
    page.get_by_role("link", name="Open Prazo").tap()
    page.wait_for_url(f"{url}/alerts")
    context.close()


def test_what_is_pressed_on_a_phone_is_as_large_as_a_fingertip(browser: Browser, url: str) -> None:
    """Buttons were 38 pixels high, the way to a process 26, the numbers of a list's pages 30. Those
    of the filters are as high as the fields beside them."""
    context = browser.new_context(locale="pt-BR", viewport=PHONE, has_touch=True, is_mobile=True)
    page = context.new_page()
    for path in ("/watchlist?row=prc_001", "/process?process=prc_001", f"/denials?as_of={AS_OF}"):
        tab = Reader(page, url).open(path)
        page.locator(TO_PRESS).first.wait_for()
        low = page.locator(TO_PRESS).evaluate_all(LOWER_THAN_44)
        assert low == [], path
        assert tab.fits_soon(), path
    context.close()


def test_a_title_is_one_line_beside_ones_name(tab: Reader) -> None:
    """A name is shorter than "Who are you?": the choices stood beside "Denials and retries", which
    had three lines."""
    page = tab.page
    page.context.add_cookies([{"name": "prazo_name", "value": "Ana", "url": tab.url}])
    page.set_viewport_size(LAPTOP)
    try:
        tab.open("/denials").menu("Ana").wait_for()
        title = page.locator("h1 span").first
        assert title.evaluate("it => it.getClientRects().length") == 1
        assert tab.fits_soon()
    finally:
        page.set_viewport_size(WINDOW)
        page.context.clear_cookies()


def test_the_name_of_a_field_is_shown_whole_in_a_card(tab: Reader) -> None:
    """Beside a list the card of a collection cut "owner.address.country_code" without a sign."""
    page = tab.page
    page.set_viewport_size(PAPER)
    try:
        tab.go("/evidence?step=answered")
        code = page.locator(".st-key-card td code").filter(has_text="owner.address.country_code")
        code.wait_for()
        assert code.evaluate(
            """it => it.getBoundingClientRect().right
                <= it.closest('[data-testid="stTable"]').getBoundingClientRect().right"""
        )
    finally:
        page.set_viewport_size(WINDOW)


def test_reasons_and_their_counts_are_shown_whole_where_there_is_little_room(tab: Reader) -> None:
    """The count of the most frequent one was cut, at the end of its bar."""
    page = tab.page
    page.set_viewport_size(NARROWEST)
    try:
        tab.go(f"/denials?as_of={AS_OF}")
        bars = page.locator(".js-plotly-plot").first
        bars.locator(".bartext-outside").first.wait_for()
        for said in bars.locator(":is(.ytick text, .bartext-outside)").all():
            assert said.evaluate(IS_INSIDE), said.text_content()
    finally:
        page.set_viewport_size(WINDOW)


def test_an_id_is_shown_whole(tab: Reader) -> None:
    """Lists cut one or two characters off, each at another place, and nothing said so."""
    grid = tab.go("/watchlist").page.locator('[data-testid="stDataFrame"] canvas').first
    assert grid.evaluate(WIDTH_OF_AN_ID) <= lists.SUBJECT_ID_WIDTH


def test_paper_shows_what_stands_folded_in_a_trail_and_no_ground_of_the_dark_theme(
    tab: Reader,
) -> None:
    """Of a trail and of the dictionary only headings were printed, ink was black on black where the
    browser printed grounds, and columns were so narrow that "Artifacts" had three lines."""
    page = tab.page
    try:
        tab.turn("dark")
        tab.go("/process?process=prc_001")
        folded = page.locator("summary")
        folded.filter(has_text="Envio feito").wait_for()
        page.emulate_media(media="print")
        assert folded.filter(has_text="Envio feito").is_visible()
        assert not folded.filter(has_text="Tabela e consulta").first.is_visible()
        assert page.evaluate(GROUNDS) == []
        page.emulate_media(media="screen")
        tab.go("/dictionary")
        page.emulate_media(media="print")
        assert page.get_by_text("process_state", exact=True).first.is_visible()
        page.emulate_media(media="screen")
        tab.go("/evidence")
        page.set_viewport_size(PAPER)
        page.emulate_media(media="print")
        cells = page.locator(".prazo-printed :is(th, td)")
        assert cells.count() > 0
        assert cells.evaluate_all(BROKEN_WORDS) == []
    finally:
        page.emulate_media(media="screen")
        page.set_viewport_size(WINDOW)
        tab.turn("light")
