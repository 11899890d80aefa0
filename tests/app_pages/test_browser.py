"""The pages in a real browser, over a real server: links, filters, history, quiet and access."""

import contextlib
import hashlib
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import httpx
import numpy
import pytest
from PIL import Image
from playwright.sync_api import Browser, ViewportSize, WebSocketRoute

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
from tests.support.dashboard import (
    BACKGROUNDS,
    FITS,
    RUN_SECONDS,
    Reader,
    contrast,
)
from tests.support.ledgers import said_in

Look = Callable[..., Reader]

REMINDER = Due("5f0c", "before_3d", "risk", "officer", 0, process_id="prc_001")

ICON = "**x**:material/delete:"
"""A requested field that would be bold, with a picture in it."""
HISTORY = [
    *(
        review(f"prc_{n:03}", before(days=40, minutes=500 - n), fields=["revenue", ICON])
        for n in range(120)
    ),
    review("prc_acp", before(days=45), seller="sel_bia", kind="ACP"),
    seller_event("sel_bia", "created", before(days=100)),
    seller_event(
        "sel_caio",
        "denied",
        before(days=9),
        decision_reasons=[{"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"}],
        retry=True,
    ),
    collected("prc_acp", "invited", before(days=44), seller="sel_bia"),
    # More attempts and entries than are shown at once: what is scrolled must be reached, too.
    *(
        step
        for n in range(8)
        for step in attempt("prc_acp", before(days=43, minutes=-n), status=500, seller="sel_bia")
    ),
]
ADDRESSES = (
    f"/?as_of={AS_OF}",
    "/since",
    f"/process?process=prc_acp&as_of={AS_OF}",
    "/ledger",
    "/seller?seller_id=sel_bia",
    f"/denials?as_of={AS_OF}",
    "/watchlist",
    "/findings",
    f"/submissions?as_of={AS_OF}",
    "/alerts",
    "/evidence?subject=prc_acp",
    "/dictionary?q=longest+expired+first",
    "/help?about=watchlist",
)
"""Each second one, the fuller page of two, is looked at more closely."""
BOTTOMS = "them => them.map(it => it.getBoundingClientRect().bottom)"
FORMS = (
    "/",  # its charts have nothing to draw of what is long past
    "/process",
    "/seller",
    "/evidence",
    "/evidence?scope=period",
    "/dictionary",
)
"""Pages once more, as they stand with less or something else asked of them."""
CHOSEN = "lang=pt&as_of=2026-06-01T12:00:00Z&tz=Europe/Lisbon"
DEEP_LINK = f"/watchlist?{CHOSEN}&type=ACI&page=2"
WINDOW: ViewportSize = {"width": 1440, "height": 1000}
LISTS_FIRST = (
    "/watchlist?lang=pt",
    "/sellers?lang=pt",
    "/findings?lang=pt",
    "/process?lang=pt",
    "/submissions?lang=pt",
    "/evidence?lang=pt",
    "/ledger?lang=pt&list=entries",
)
HEADER_ROW = 35
HEAD_OF_PAGE = """() => [...document.querySelectorAll(
    ':is(.st-key-search, .st-key-menu_instant, .st-key-menu_you)')].map(it => {
        const {x, y, width, height} = it.getBoundingClientRect()
        return [x, y, width, height].map(Math.round)
    })"""
FOOT_FITS = """() => {
    const foot = document.querySelector('.st-key-freshness')
    return foot.scrollWidth <= foot.clientWidth
}"""
PICTURES = '.st-key-filters [data-testid="stPopoverButton"]'
NAMED_IN_SIGHT = f"""() => [...document.querySelectorAll('{PICTURES} p')].map(
    it => parseFloat(getComputedStyle(it).fontSize) ? it.textContent.trim() : '')"""
"""What these say to the eye: the third has room for its name, and was an eye without a word."""
MARKED = """([scrolled, height]) => {
    const grid = document.querySelector('[data-testid="stDataFrame"]')
    grid.querySelector('.dvn-scroller').scrollTop = scrolled
    const mark = getComputedStyle(grid, '::after')
    return parseFloat(mark.height) === height && parseFloat(mark.width) > 0.99 * grid.clientWidth
}"""
"""Whether the chosen row of a list is marked from end to end, as far as it is in sight."""
LIST_AND_FOOT = """() => ['[data-testid="stDataFrame"] canvas', '.st-key-freshness_line'].map(
    it => document.querySelector(it).getBoundingClientRect().y)"""
BASIS = re.compile("Table and query|Tabela e consulta")
BEHIND = '[class*="st-key-behind_"] summary'
LEADS_NOWHERE = """() => [...document.querySelectorAll('[data-testid="stMain"] a[href^="#"]')]
    .map(it => it.hash).filter(it => !document.querySelector(it))"""


@contextlib.contextmanager
def opened(browser: Browser, url: str, **options: Any) -> Iterator[Reader]:
    """A tab that is closed at the end: it keeps the server busy."""
    window = {"viewport": WINDOW, "locale": "en-GB"}
    with contextlib.closing(browser.new_context(**window | options)) as context:
        yield Reader(context.new_page(), url)


class Sight(NamedTuple):
    title: str
    text: str
    asked: dict[str, list[str]]
    chosen_page: str


def sight(tab: Reader) -> Sight:
    return Sight(tab.title(), tab.text(), asked(tab.page.url), chosen_page(tab))


@pytest.fixture(scope="module")
def arrived(browser: Browser, url: str) -> Iterator[tuple[Reader, Sight, Sight]]:
    """A new tab, what it shows at a deep link, and what on the page that a click leads to from
    there: to load a page takes as long as to look at several."""
    with opened(browser, url) as tab:
        tab.open(DEEP_LINK).page.get_by_text("2 campos solicitados").wait_for()
        at_first = sight(tab)
        # Of four quick clicks one opened the seller, whose link stood there on the next page.
        tab.page.get_by_role("link", name="Abrir o processo").click(click_count=4)
        tab.page.get_by_role("cell", name="Faturamento revenue", exact=True).first.wait_for()
        yield tab, at_first, sight(tab.settled())


@pytest.fixture(scope="module")
def tab(arrived: tuple[Reader, Sight, Sight]) -> Reader:
    """One for all who only look, and leave neither language nor medium changed."""
    return arrived[0].go("/findings?lang=en")


@pytest.fixture
def look(browser: Browser, url: str) -> Iterator[Look]:
    """`look(color_scheme="dark")` opens a tab."""
    with contextlib.ExitStack() as tabs:
        yield lambda **options: tabs.enter_context(opened(browser, url, **options))


def test_a_list_begins_where_the_eye_does_its_chosen_row_is_marked_and_the_head_stands_still(
    tab: Reader,
) -> None:
    """The first row stood 435 pixels down, and what stands beside a title in another place on each
    page."""
    places, names = set(), []
    tab.page.set_viewport_size({"width": 1280, "height": 720})
    try:
        for path in depth.few(LISTS_FIRST, 3):
            tab.go(path)
            tab.page.locator('[data-testid="stDataFrame"] canvas').first.wait_for()
            places.add(str(tab.page.evaluate(HEAD_OF_PAGE)))
            grid, foot = tab.page.evaluate(LIST_AND_FOOT)
            assert grid + HEADER_ROW <= 200, path
            assert grid + HEADER_ROW + 12 * lists.ROW_HEIGHT <= foot, path
            assert tab.page.evaluate(FOOT_FITS), path
        assert len(places) == 1
        tab.go("/watchlist?lang=en")
        for picture in tab.page.locator(PICTURES).all():
            picture.hover()
            names.append(picture.get_attribute("title"))
        assert names == ["Views", "More filters", "Show names"]
        assert tab.page.evaluate(NAMED_IN_SIGHT) == ["", "", "Show names"]
        for scrolled, left in ((0, lists.ROW_HEIGHT), (20, lists.ROW_HEIGHT - 20)):
            tab.page.wait_for_function(MARKED, arg=[scrolled, left])
        tab.page.set_viewport_size({"width": 320, "height": 256})  # a laptop's window at 400 %
        first_row = HEADER_ROW + lists.ROW_HEIGHT
        tab.page.wait_for_function(f"most => ({LIST_AND_FOOT})()[0] <= most", arg=256 - first_row)
        assert tab.page.evaluate(LIST_AND_FOOT)[1] > 256
    finally:
        tab.page.set_viewport_size(WINDOW)
        tab.go("/findings?lang=en")


def test_every_answer_is_guarded_whoever_gives_it(url: str) -> None:
    for path in ("/", "/watchlist", "/_stcore/health", "/api/views", "/nowhere.js"):
        headers = httpx.get(url + path).headers
        if path == "/api/views":
            assert headers["cache-control"] == "no-store"
        assert headers["content-security-policy"].startswith("default-src 'none'"), path
        assert headers["x-content-type-options"] == "nosniff", path


def test_who_follows_the_link_of_a_message_takes_its_alert_or_puts_it_off(
    look: Look, folder: Path, url: str
) -> None:
    """From the page of a mail program, elsewhere; by itself the visit records nothing."""
    with contextlib.closing(open_inbox(str(folder / "inbox.db"))) as inbox:

        def steps() -> list[dict[str, Any]]:
            return [said_in(it) for it in inbox.find(kind="alert")][1:]

        inbox.append([entries.raised(REMINDER, Subject("prc_001"), instants.now())])
        link = Links(url, inbox.log_key).acknowledging(REMINDER.alert, "ana", instants.now())
        page = look().page
        page.set_content(f'<a href="{link}">take it</a>')
        page.get_by_role("link").click()
        page.get_by_text("Confirm that somebody sees to this alert.").wait_for()
        assert "prc_001" not in page.content()
        assert steps() == []
        page.get_by_role("button", name="Confirm").click()
        page.get_by_text("Recorded: somebody sees to this alert. What comes later").wait_for()
        assert [(it["step"], it["actor"]) for it in steps()] == [("acknowledged", "ana")]

        page.goto(link)
        page.get_by_text("Snooze").first.click()
        page.get_by_label("For how many hours?").select_option("72")
        page.get_by_role("button", name="Snooze").click()  # the browser asks for the reason
        page.get_by_label("Why can it wait?").fill("the seller is ill")
        page.get_by_role("button", name="Snooze").click()
        page.get_by_text("nobody is notified of this alert until then").wait_for()
        put_off = steps()[-1]
        assert (put_off["step"], put_off["reason"]) == ("snoozed", "the seller is ill")
        assert instants.parse(put_off["until"]) > instants.now() + 71 * instants.HOUR


def test_pages_are_reached_from_the_navigation(tab: Reader) -> None:
    assert tab.title() == "Findings"
    tab.page.locator("header").get_by_text("Watchlist").first.click()
    tab.page.get_by_role("heading", name="Watchlist", exact=True).wait_for()
    tab.settled()
    assert tab.page.title() == "Watchlist · Prazo"
    tab.page.locator("header").get_by_text("Investigate").click()
    tab.page.get_by_role("link", name="Open the seller").click()
    tab.page.get_by_role("heading", name="Seller", exact=True).wait_for()


def test_filters_stand_in_the_url_and_in_the_file_of_the_list_and_the_back_button_takes_them_back(
    tab: Reader, tmp_path: Path
) -> None:
    """Of its rows 50 are shown; the file has all 120, and its name says of what and when."""
    tab.go("/watchlist")
    assert "121 processes" in tab.text()
    tab.page.get_by_role("button", name="ACI").click()
    tab.page.wait_for_url("**type=ACI**")
    assert tab.settled().query() == "type=ACI"
    assert "120 processes" in tab.text()
    tab.page.get_by_role("button", name="Download", exact=True).click()
    with tab.page.expect_download() as download:
        tab.page.get_by_role("button", name="CSV for programs", exact=True).click()
    file = tmp_path / "watchlist.csv"
    download.value.save_as(file)
    name = download.value.suggested_filename
    assert re.fullmatch(
        r"prazo_open_processes_queue-act_now_review_type-ACI_20\d\d-\d\d-\d\d_entry-\d+\.csv",
        name,
    )
    lines = file.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("process_id,seller_id,")
    assert sum(line.startswith("prc_") for line in lines) == 120
    tab.page.keyboard.press("Escape")
    tab.page.go_back()
    tab.page.get_by_text("121 processes").first.wait_for()
    assert tab.settled().query() == ""


def test_the_page_for_the_boss_is_one_click_from_trends(tab: Reader) -> None:
    tab.go("/trends?lang=pt")
    with tab.page.expect_download() as download:
        tab.page.get_by_role("button", name="Uma página, para imprimir").click()
        tab.page.get_by_text("A página está sendo gerada.").wait_for()
    html = download.value.path().read_text(encoding="utf-8")
    assert "<h1" in html
    assert "Revisões: situação e tendência</h1>" in html
    assert re.fullmatch(r"prazo-20\d\d-\d\d-\d\d\.html", download.value.suggested_filename)


def test_a_deep_link_opens_with_all_that_it_says_and_language_and_instant_go_on_with_the_reader(
    arrived: tuple[Reader, Sight, Sight],
) -> None:
    """Streamlit carries them to the next page itself: where our page had put them into its links,
    they stood twice in the address of the next one."""
    _, at_first, then = arrived
    assert at_first.title == "Em risco"
    assert "Você está vendo 01/06/2026 13:00:00, não o momento atual" in at_first.text
    assert "120 processos\n" in at_first.text
    assert at_first.chosen_page == "2"
    assert then.title == "Processo"
    assert then.asked == {**asked(f"?{CHOSEN}"), "process": ["prc_069"]}
    assert "Você está vendo" in then.text


def test_a_field_stands_there_as_the_platform_wrote_it(
    arrived: tuple[Reader, Sight, Sight],
) -> None:
    """On the card of a process in a list, and in a cell of its page."""
    for seen in arrived[1:]:
        assert ICON in seen.text


@pytest.mark.long
def test_pages_of_a_list_are_turned_in_the_url_and_kept_on_the_way_back(tab: Reader) -> None:
    tab.go("/watchlist")
    tab.page.locator('[data-testid="stPagination"]').get_by_text("3", exact=True).click()
    tab.page.wait_for_url("**/watchlist?page=3")
    tab.settled()
    tab.page.get_by_role("button", name="ACP").click()
    tab.page.get_by_text("1 process", exact=True).wait_for(timeout=15_000)
    assert tab.settled().query() == "type=ACP"
    tab.page.go_back()
    tab.page.get_by_text("121 processes").wait_for(timeout=15_000)
    assert tab.settled().query() == "page=3"
    tab.page.locator("header").get_by_text("Findings").first.click()
    tab.page.wait_for_url("**/findings")
    tab.settled()
    tab.page.go_back()
    tab.page.wait_for_url("**/watchlist?page=3")
    assert tab.settled().query() == "page=3"
    assert chosen_page(tab) == "3"
    tab.page.reload()
    assert chosen_page(tab.settled()) == "3"


def chosen_page(tab: Reader) -> str:
    """The page that the list below it shows, by its number; none where no list is turned."""
    chosen = tab.page.locator('[data-testid="stPagination"] [aria-current="page"]')
    return " ".join(chosen.all_inner_texts())


@pytest.mark.long
def test_language_and_instant_stay_on_the_way_from_a_figure(tab: Reader) -> None:
    tab.open(f"/?{CHOSEN}")
    tab.page.get_by_role("link", name="Ver 120 expirados").click()
    tab.settled()
    assert tab.title() == "Em risco"
    assert asked(tab.page.url) == {**asked(f"?{CHOSEN}"), "state": ["EXPIRED"]}
    tab.go("/findings?lang=en")


@pytest.mark.long
def test_an_instant_that_was_typed_stays_on_the_next_page_and_in_a_new_tab(look: Look) -> None:
    tab = look().open(f"/process?process=prc_000&{CHOSEN}")
    tab.menu("Ver em outra data").click()
    tab.page.get_by_role("textbox", name="Ver em outra data (UTC)").fill("2026-05-31T12:00:00Z")
    tab.page.keyboard.press("Enter")
    tab.page.get_by_text("Você está vendo 31/05/2026").wait_for()
    link = tab.settled().page.get_by_role("link", name="Abrir o vendedor")
    with tab.page.context.expect_page() as opened:
        link.click(button="middle")
    other = Reader(opened.value, tab.url).settled()
    assert other.title() == "Vendedor"
    assert "Você está vendo 31/05/2026" in other.text()
    assert asked(other.page.url)["tz"] == ["Europe/Lisbon"]
    link.click()
    tab.page.get_by_role("heading", name="Vendedor", exact=True).wait_for()
    now = asked(tab.settled().page.url)
    assert now == {
        **asked(f"?{CHOSEN}"),
        "as_of": ["2026-05-31T12:00:00Z"],
        "seller_id": ["sel_ana"],
    }


def asked(url: str) -> dict[str, list[str]]:
    """What stands in a URL behind the question mark: each value of it."""
    return parse_qs(url.partition("?")[2])


@pytest.mark.long
def test_the_way_back_leads_to_the_page_in_its_language(tab: Reader) -> None:
    """The address that the browser comes back to names it."""
    tab.go("/watchlist?lang=pt").go("/ledger?lang=pt")
    tab.speak("en")
    tab.page.get_by_role("heading", name="Ledger", exact=True).wait_for()
    tab.page.go_back()
    tab.page.get_by_role("heading", name="Em risco", exact=True).wait_for()
    tab.settled()
    assert "lang=pt" in tab.query()
    assert tab.page.evaluate("document.documentElement.lang") == "pt-BR"
    tab.go("/findings?lang=en")


@pytest.mark.timeout(500)
def test_every_page_is_quiet_open_to_everyone_no_wider_than_its_window_and_filtered_in_one_line(
    tab: Reader,
) -> None:
    """No error on the console, no other host asked, no page wider than its window, and the filters
    of each list in one line of a wide one, in the language with the longer words. On each second
    page no finding of axe by WCAG 2.2 AA, first in the light theme and then in the dark one; on the
    first of each no pale text, which follows from the theme. A long run looks at all of it on each
    page, at another width, with its tables and queries opened, in its other forms, and at the
    demo's (tests/release)."""
    is_whole, faults, complaints = depth.is_whole(), [], len(tab.complaints)
    themes, filtered = list(BACKGROUNDS), 0
    for number, path in enumerate(ADDRESSES + FORMS if is_whole else ADDRESSES):
        tab.page.set_viewport_size(WINDOW)
        tab.go(f"{path}{'&' if '?' in path else '?'}lang=pt")
        if is_whole and (basis := tab.page.get_by_text(BASIS)).count():
            basis.first.click()
            tab.settled()
        if is_whole and number == 0:
            tab.page.get_by_text("from process_state, clock").wait_for()
        named = tab.page.eval_on_selector_all(BEHIND, "all => all.map(it => it.ariaLabel)")
        if len({*named, None}) <= len(named):
            faults.append((path, "two charts have tables of one name", str(named)))
        if lost := tab.page.evaluate(LEADS_NOWHERE):
            faults.append((path, "links lead nowhere on it", str(lost)))
        bottoms = tab.page.eval_on_selector_all(".st-key-filters > *", BOTTOMS)
        filtered += len(bottoms) > 1
        if bottoms and max(bottoms) - min(bottoms) > 1:
            faults.append((path, "its filters take more than one line", str(bottoms)))
        for width in (1440, 1024) if is_whole else (1024,):
            tab.page.set_viewport_size({"width": width, "height": 1600})
            if not tab.fits_soon():
                faults.append((path, "wider than its window", str(width)))
        half = len(ADDRESSES) // 2
        if is_whole or number % 2 == 0:
            schemes = themes if is_whole else [themes[number >= half]]
            found = tab.found_by_axe(schemes, of_contrast=is_whole or number in (0, half))
            faults += [(path, *it) for it in found]
    assert faults == []
    assert filtered >= 6
    assert tab.page.evaluate("document.documentElement.lang") == "pt-BR"
    assert tab.elsewhere == []
    assert tab.complaints[complaints:] == []
    tab.page.set_viewport_size(WINDOW)
    tab.turn("light")
    tab.go("/findings?lang=en")


@pytest.mark.long
@pytest.mark.parametrize("path", ["/evidence", "/submissions"])
def test_a_row_leads_to_its_process_by_the_keyboard_alone(path: str, tab: Reader) -> None:
    tab.go(path)
    link = tab.page.get_by_role("link", name="Open the process")
    link.wait_for()
    is_reached = "it => it === document.activeElement || it.contains(document.activeElement)"
    for _ in range(120):
        tab.page.keyboard.press("Tab")
        if link.evaluate(is_reached):
            tab.settled()  # cells that were passed may have drawn the page again
            if link.evaluate(is_reached):
                break
    assert link.evaluate(is_reached)
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_url("**/process?process=prc_acp")
    tab.settled()
    tab.page.get_by_text("prc_acp").first.wait_for(timeout=RUN_SECONDS * 1000)
    assert tab.title() == "Process"


FOCUS_UNSEEN = """async () => {
    const it = document.activeElement
    const grid = it.closest('canvas')
    if (grid && grid !== it) return []  // a cell that the grid draws as the chosen one
    const look = () => {
        const style = getComputedStyle(it)
        return [style.outlineStyle, style.outlineColor, style.boxShadow].join()
    }
    // A grid takes the focus back as soon as others have a turn; its look changes at once.
    const settled = () => Promise.all(document.getAnimations()
        .filter(one => one.effect.getComputedTiming().endTime !== Infinity)
        .map(one => one.finished.catch(() => null)))
    if (!grid) await settled()
    const focused = look()
    it.blur()
    if (!grid) await settled()
    const unfocused = look()
    it.focus({focusVisible: true, preventScroll: true})
    return focused !== unfocused ? [] : [it.outerHTML.slice(0, 200)]
}"""
"""What has the focus, where outline and shadow are what they are without it: a change of its ground
alone is too pale."""


NAME_OF_FOCUSED = """() => {
    const it = document.activeElement
    // What scrolls can have the focus, too: its text is the page's.
    return it.matches('main, section') ? '' : (it.ariaLabel || it.innerText || '').trim()
}"""
FOCUS_NOTHING = """() => {  // Tab then begins at the top
    const top = document.createElement('button')
    document.body.prepend(top)
    top.focus()
    top.remove()
}"""


def test_the_keyboard_reaches_everything(tab: Reader) -> None:
    """From the top of the watchlist, Tab goes through the navigation, the filters and the list."""
    tab.go("/watchlist").page.evaluate(FOCUS_NOTHING)
    reached, unseen = [], []
    while len(reached) < 60 and "Download" not in " | ".join(reached):
        tab.page.keyboard.press("Tab")
        unseen += tab.page.evaluate(FOCUS_UNSEEN)
        reached.append(tab.page.evaluate(NAME_OF_FOCUSED))
    # "AC": of ACP and ACI, which are one stop, the one that was chosen last.
    for name in ("Watchlist", "View as of", "Who are you?", "Act now (", "AC", "Download"):
        assert name in " | ".join(reached), f"{name} is not among {reached}"
    assert unseen == []


def test_while_its_server_is_away_a_page_says_so_in_the_readers_language(look: Look) -> None:
    """It said nothing for seconds, and then in English that Streamlit's server does not respond."""
    tab, sockets = look(locale="pt-BR"), []

    def pass_on(socket: WebSocketRoute) -> None:
        socket.connect_to_server()
        sockets.append(socket)

    tab.page.route_web_socket("**/_stcore/stream", pass_on)
    said = tab.open("/help").page.get_by_text("Sem conexão com o Prazo").first
    assert not said.is_visible()
    tab.page.route("**/_stcore/health", lambda asked: asked.abort())
    sockets[-1].close()
    said.wait_for()
    tab.page.get_by_role("status").filter(has_text="nada do que").wait_for(state="attached")
    tab.page.unroute("**/_stcore/health")
    said.wait_for(state="hidden", timeout=RUN_SECONDS * 1000)


@pytest.mark.long
def test_a_contrast_theme_shows_what_is_chosen_and_states_that_can_be_read(look: Look) -> None:
    """Where the reader's system sets all colours, a state was white on a pale ground, and nothing
    showed which filter was on."""
    tab = look(forced_colors="active").open("/watchlist?type=ACI")
    page = tab.page

    def ground(name: str) -> str:
        button = page.locator(".st-key-filters button").filter(has_text=name)
        return str(button.evaluate("it => getComputedStyle(it).backgroundColor"))

    page.locator(".st-key-filters button").filter(has_text="ACI").wait_for()
    assert ground("ACI") != ground("ACP")
    # Where each button has an edge, a thin line around one does not say that the keyboard is there.
    page.keyboard.press("Tab")
    outline = "getComputedStyle(document.activeElement).outline"
    assert str(page.evaluate(outline)).endswith(" solid 3px")
    grid = page.locator('[data-testid="stDataFrame"]')
    expired = (253, 236, 238)  # the ground of that state
    ink: tuple[int, ...] = expired
    for _ in range(100):  # until its canvas is drawn
        shot = numpy.asarray(Image.open(io.BytesIO(grid.screenshot())).convert("RGB"))
        down, across = numpy.nonzero((shot == expired).all(axis=2))
        if len(down):
            chip = shot[down[0] + 2 : down[0] + 16, across.min() + 8 : across.max() - 8]
            ink = tuple(chip.reshape(-1, 3)[chip.sum(axis=2).argmin()].tolist())
            break
        page.wait_for_timeout(100)
    assert contrast(f"rgb{ink}", f"rgb{expired}") >= 4.5


@pytest.mark.long
def test_a_page_prints_whole_and_without_its_controls(tab: Reader) -> None:
    """A grid scrolls on a screen and draws no row that is out of sight."""
    page = tab.page
    tab.turn("dark")
    tab.go(f"/watchlist?as_of={AS_OF}&seller=sel_a")
    rows = page.locator(".prazo-printed tbody tr")
    assert (rows.count(), rows.first.is_visible()) == (50, False)
    assert page.get_by_role("button", name="Download").is_visible()
    page.emulate_media(media="print")
    printed = rows.first.inner_text().split("\t")
    assert (printed[2:4], printed[6]) == (["EXPIRED · late", "sel_ana"], "prc_119")
    assert rows.last.is_visible()
    assert "Seller: contains sel_a · Page 1 of 3" in page.locator("p.prazo-printed").inner_text()
    for control in ("stHeader", "stPopover", "stDataFrame", "stPagination"):
        found = page.locator(f'[data-testid="{control}"]')
        assert not any(found.nth(n).is_visible() for n in range(found.count())), control
    assert page.evaluate(FITS)
    for ink in ("h1", '[data-testid="stMarkdownContainer"] p', ".prazo-printed td"):
        colour = page.locator(ink).first.evaluate("it => getComputedStyle(it).color")
        assert contrast(colour, BACKGROUNDS["light"]) >= 4.5, ink  # it was white on black paper
    ground = "getComputedStyle(document.querySelector('[data-testid=\"stApp\"]')).backgroundColor"
    assert page.evaluate(ground) == BACKGROUNDS["light"]
    page.emulate_media(media="screen")
    tab.turn("light")
    tab.go(f"/process?process=prc_acp&as_of={AS_OF}")
    page.emulate_media(media="print")
    cut = """() => [...document.querySelectorAll('[data-testid="stVerticalBlock"]')]
        .filter(it => getComputedStyle(it).overflowY !== 'visible').length"""
    assert page.evaluate(cut) == 0
    page.emulate_media(media="screen")
    tab.go("/seller?seller_id=sel_bia")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    card = page.locator('[data-testid="stLayoutWrapper"]').filter(has_text="Act now").last
    assert card.evaluate("it => getComputedStyle(it).breakInside") == "avoid"
    links = page.get_by_role("link").filter(visible=True).all_inner_texts()
    assert [it.split()[-1] for it in links] == ["prc_acp", "prc_acp"]  # its ids, and no control
    page.emulate_media(media="screen")


@pytest.mark.long
def test_an_audit_package_is_made_and_downloaded(tab: Reader, tmp_path: Path) -> None:
    """Its digest on the page is that of the file, and making it is an entry of the log."""
    tab.go("/evidence?subject=prc_acp")
    tab.page.get_by_label("Why is it needed?").fill("an audit")
    tab.page.get_by_label("Your name").fill("Ana")
    tab.page.get_by_role("button", name="Make the package").click()
    tab.page.get_by_text("The package is ready").wait_for(timeout=60_000)
    tab.settled()
    with tab.page.expect_download() as download:
        tab.page.get_by_role("button", name="Download the package").click()
    package = tmp_path / "package.zip"
    download.value.save_as(package)
    assert hashlib.sha256(package.read_bytes()).hexdigest() in tab.text()
    assert "Audit export" in tab.go("/process?process=prc_acp").text()
