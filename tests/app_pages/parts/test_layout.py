"""How pages stand on the screen in a real browser: what moves while they come, what a phone shows.

One server, and one tab for all pages.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests import depth
from tests.app_pages.conftest import fill
from tests.app_pages.support.occurrences import (
    AS_OF,
    attempt,
    before,
    collected,
    review,
    seller_event,
)
from tests.support.dashboard import BACKGROUNDS, FITS, Reader, contrast, dashboard

ICON = "**x**:material/delete:"
"""A requested field that would be bold, with a picture in it."""
HISTORY = [
    *(review(f"prc_{n:03}", before(days=40, minutes=500 - n)) for n in range(60)),
    review("prc_icon", before(days=35), seller="sel_icon", fields=["revenue", ICON]),
    seller_event("sel_ana", "created", before(days=100)),
    seller_event(
        "sel_caio",
        "denied",
        before(days=9),
        decision_reasons=[{"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"}],
        retry=True,
    ),
    collected("prc_001", "invited", before(days=39)),
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
PHONE = {"width": 390, "height": 844}
NARROWEST = 320
"""A page of this width is read without scrolling sideways (WCAG 1.4.10): the lines above a list
scroll by themselves. Streamlit's own style had the better of ours, and the whole page did."""
ROW = 36
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


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("layout")
    fill(folder, HISTORY)
    with dashboard(folder) as running:
        yield running


@pytest.fixture(scope="module")
def tab(browser: Browser, url: str) -> Iterator[Reader]:
    context = browser.new_context(
        locale="pt-BR", viewport={"width": 1440, "height": 1000}, has_touch=True
    )
    context.add_init_script(WATCH)
    yield Reader(context.new_page(), url).open("/dictionary")
    context.close()


def moved(tab: Reader) -> tuple[float, str]:
    """How far the page moved by itself, as the browser counts it, and what moved most."""
    tab.page.wait_for_function("() => !document.querySelector('[data-testid=\"stSkeleton\"]')")
    shifts = [it for it in tab.page.evaluate("shifts") if not it["after_input"]]
    most = max(shifts, key=lambda shift: float(shift["by"]), default={})
    return sum(it["by"] for it in shifts), " | ".join(most.get("what", ()))


@pytest.mark.long
def test_no_page_moves_while_it_comes(tab: Reader) -> None:
    """Neither the first time, which is the cold one for the parts of Streamlit that only this page
    shows, nor after a click in the navigation: one page, and in a long run each.
    Before style and parts came with the page's head, five pages moved by 0.2 to 0.9."""
    far = {}
    for path in PAGES if depth.is_long() else LEFT_BY_A_CLICK[:1]:
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


@pytest.mark.long
def test_nothing_on_the_overview_moves_far_while_its_links_are_fetched(tab: Reader) -> None:
    """The room of a figure's link was held open for that of a figure: 87 px in place of 18. Where
    the link came late, all below moved up by the rest."""
    tab.page.route("**/PageLink.*.js", lambda route: (time.sleep(1.5), route.continue_()))
    moved(tab.open("/"))
    tab.page.unroute("**/PageLink.*.js")
    far = [it for it in tab.page.evaluate("shifts.flatMap(it => it.up)") if abs(it) > FAR]
    assert far == []


def test_the_filters_of_every_list_stand_in_one_line(tab: Reader) -> None:
    """In Portuguese, which has the longer words; each fourth list, and in a long run all."""
    broken = []
    for path in depth.few(LISTS, 4):
        tab.go(path)
        bottoms = tab.page.eval_on_selector_all(
            ".st-key-filters > *", "them => them.map(it => it.getBoundingClientRect().bottom)"
        )
        assert len(bottoms) >= 2, path
        if max(bottoms) - min(bottoms) > 1:
            broken.append((path, bottoms))
    assert broken == []


@pytest.mark.long
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


def test_a_field_stands_there_as_the_platform_wrote_it(tab: Reader) -> None:
    tab.go("/process?process=prc_icon")
    tab.page.get_by_role("cell", name=ICON, exact=True).wait_for()
    tab.go("/watchlist?seller=icon")
    tab.page.get_by_text(ICON).wait_for()


def test_a_bar_and_a_cell_lead_to_their_rows(tab: Reader) -> None:
    page = tab.page
    page.set_viewport_size({"width": 1440, "height": 1600})
    for path, mark, led in (
        (f"/denials?as_of={AS_OF}", ".st-key-denial_weeks .scatterlayer path", "reason=DOCUMENT"),
        (
            "/submissions?via=gateway&of=nobody&sort=via",
            ".st-key-outcomes_by_attempt .barlayer path",
            "/submissions?outcome=platform_error&place=1",
        ),
    ):
        tab.go(path)
        box = page.locator(mark).first.bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_url(f"**{led}**")
        tab.settled()
    page.locator(".st-key-facts").get_by_role("button", name="Mostrar").first.click()
    page.wait_for_url(lambda url: "place=1" in url and "outcome=" not in url)
    tab.settled()
    page.get_by_text("Tentativas de número 1 em seu processo.").wait_for()
    page.set_viewport_size({"width": 1440, "height": 1000})


def test_a_phone_shows_the_first_row_opens_its_card_over_the_list_and_closes_the_drawer(
    tab: Reader,
) -> None:
    page = tab.page
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    try:
        tab.open("/watchlist?lang=en")
        grid = page.locator('[data-testid="stDataFrame"] canvas').first
        for width in (PHONE["width"], NARROWEST):
            page.set_viewport_size({"width": width, "height": PHONE["height"]})
            page.wait_for_function(FITS)
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        box = grid.bounding_box()
        assert box is not None
        assert box["y"] + 2 * ROW < PHONE["height"] / 2, "head and first row, without scrolling"
        closed = page.locator(".st-key-card_first")
        assert not closed.is_visible()
        page.touchscreen.tap(box["x"] + 150, box["y"] + ROW * 1.5)
        card = page.locator(".st-key-card_chosen")
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
        card.wait_for(state="detached")
        assert "row=" not in tab.settled().query()

        page.locator('[data-testid="stExpandSidebarButton"]').click()
        page.get_by_role("link", name="Findings").click()
        page.get_by_role("heading", name="Findings").first.wait_for()
        page.wait_for_function(
            "() => document.querySelector('[data-testid=\"stSidebar\"]')"
            "?.getBoundingClientRect().right <= 1"
        )
        assert tab.complaints == []
    finally:
        page.set_viewport_size({"width": 1440, "height": 1000})
