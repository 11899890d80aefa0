"""The pages in a real browser, over a real server: links, filters, history, quiet and access."""

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest
from playwright.sync_api import Browser

from pipeline import instants
from pipeline.alert import entries
from pipeline.alert.entries import Due, Subject
from pipeline.alert.links import Links
from pipeline.inbox import open_inbox
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
from tests.support.dashboard import (
    BACKGROUNDS,
    FITS,
    RUN_SECONDS,
    Reader,
    contrast,
    dashboard,
)

Look = Callable[..., Reader]

REMINDER = Due("5f0c", "before_3d", "risk", "officer", 0, process_id="prc_001")

HISTORY = [
    *(review(f"prc_{n:03}", before(days=40, minutes=500 - n)) for n in range(120)),
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
)
"""Each second one, the fuller page of two, is looked at more closely."""
FORMS = (
    "/",  # its charts have nothing to draw of what is long past
    "/process",
    "/seller",
    "/evidence?scope=period",
    "/dictionary",
)
"""Pages once more, as they stand with less or something else asked of them."""
CHOSEN = "lang=pt&as_of=2026-06-01T12:00:00Z&tz=Europe/Lisbon"
BASIS = re.compile("Table and query|Tabela e consulta")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("dashboard")
    fill(made, HISTORY)
    return made


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with dashboard(folder) as running:
        yield running


@contextlib.contextmanager
def opened(browser: Browser, url: str, **options: Any) -> Iterator[Reader]:
    """A tab that is closed at the end: it keeps the server busy."""
    window = {"viewport": {"width": 1440, "height": 1000}, "locale": "en-GB"}
    with contextlib.closing(browser.new_context(**window | options)) as context:
        yield Reader(context.new_page(), url)


@pytest.fixture(scope="module")
def tab(browser: Browser, url: str) -> Iterator[Reader]:
    """One for all who only look, and leave neither language nor medium changed."""
    with opened(browser, url) as tab:
        yield tab.open("/findings")


@pytest.fixture(scope="module")
def portuguese_tab(browser: Browser, url: str) -> Iterator[Reader]:
    """A tab in Portuguese, for all who only look."""
    with opened(browser, url, locale="pt-BR") as tab:
        yield tab.open("/")


@pytest.fixture
def look(browser: Browser, url: str) -> Iterator[Look]:
    """`look(color_scheme="dark")` opens a tab."""
    with contextlib.ExitStack() as tabs:
        yield lambda **options: tabs.enter_context(opened(browser, url, **options))


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
            return [json.loads(it.body or b"") for it in inbox.find(kind="alert")][1:]

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
        page.get_by_text("Put off").first.click()
        page.get_by_label("For how many hours?").select_option("72")
        page.get_by_role("button", name="Put off").click()  # the browser asks for the reason
        page.get_by_label("Why can it wait?").fill("the seller is ill")
        page.get_by_role("button", name="Put off").click()
        page.get_by_text("nobody is told of this alert until then").wait_for()
        put_off = steps()[-1]
        assert (put_off["step"], put_off["reason"]) == ("snoozed", "the seller is ill")
        assert instants.parse(put_off["until"]) > instants.now() + 71 * instants.HOUR


def test_pages_are_reached_from_the_navigation(tab: Reader) -> None:
    assert tab.title() == "Findings"
    tab.page.locator("header").get_by_text("Watchlist").first.click()
    assert tab.settled().title() == "Watchlist"
    assert tab.page.title() == "Watchlist · Prazo"
    tab.page.locator("header").get_by_text("Investigate").click()
    tab.page.get_by_role("link", name="Seller").click()
    assert tab.settled().title() == "Seller"


def test_filters_stand_in_the_url_and_the_back_button_takes_them_back(tab: Reader) -> None:
    tab.go("/watchlist")
    assert "121 processes" in tab.text()
    tab.page.get_by_role("button", name="ACP").click()
    tab.page.wait_for_url("**type=ACP**")
    assert tab.settled().query() == "type=ACP"
    assert re.search(r"^1 process$", tab.text(), re.MULTILINE)
    tab.page.go_back()
    tab.settled()
    assert tab.query() == ""
    assert "121 processes" in tab.text()


def test_a_deep_link_opens_with_all_that_it_says_and_language_and_instant_go_on_with_the_reader(
    tab: Reader,
) -> None:
    """Streamlit carries them to the next page itself: where our page had put them into its links,
    they stood twice in the address of the next one."""
    tab.open(f"/watchlist?{CHOSEN}&type=ACI&page=2")
    assert tab.title() == "Em risco"
    assert "Você está vendo 01/06/2026 13:00:00, não o momento atual" in tab.text()
    assert "120 processos · 50 por página" in tab.text()
    assert chosen_page(tab) == "2"
    tab.page.get_by_role("link", name="Abrir o processo").click()
    tab.settled()
    assert tab.title() == "Processo"
    assert asked(tab.page.url) == {**asked(f"?{CHOSEN}"), "process": ["prc_050"]}
    assert "Você está vendo" in tab.text()
    tab.go("/findings?lang=en")


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
    tab.page.get_by_text("121 processes · 50 a page").wait_for(timeout=15_000)
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
    """The page that the list below it shows, by its number."""
    return tab.page.locator('[data-testid="stPagination"] [aria-current="page"]').inner_text()


@pytest.mark.long
def test_language_and_instant_stay_on_the_way_from_a_figure(tab: Reader) -> None:
    tab.open(f"/?{CHOSEN}")
    tab.page.get_by_role("link", name="Mostrar").first.click()
    tab.settled()
    assert tab.title() == "Em risco"
    assert asked(tab.page.url) == {**asked(f"?{CHOSEN}"), "state": ["EXPIRED"]}
    tab.go("/findings?lang=en")


@pytest.mark.long
def test_an_instant_that_was_typed_stays_on_the_next_page_and_in_a_new_tab(look: Look) -> None:
    tab = look().open(f"/process?process=prc_000&{CHOSEN}")
    tab.page.get_by_role("textbox", name="Posição em (UTC)").fill("2026-05-31T12:00:00Z")
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


def test_a_browser_in_portuguese_is_greeted_in_portuguese_and_hears_it(
    portuguese_tab: Reader,
) -> None:
    """Who has the page read aloud must hear Portuguese as Portuguese (WCAG 3.1.1)."""
    assert portuguese_tab.title() == "Visão geral"
    assert portuguese_tab.page.evaluate("document.documentElement.lang") == "pt-BR"
    portuguese_tab.page.get_by_role("radio", name="en").click()
    portuguese_tab.settled()
    assert portuguese_tab.title() == "Overview"
    assert portuguese_tab.page.evaluate("document.documentElement.lang") == "en-GB"
    portuguese_tab.page.get_by_role("radio", name="pt").click()
    portuguese_tab.settled()


@pytest.mark.long
def test_the_way_back_leads_to_the_page_in_its_language(tab: Reader) -> None:
    """The address that the browser comes back to names it."""
    tab.go("/watchlist?lang=pt").go("/ledger?lang=pt")
    tab.page.get_by_role("radio", name="en").click()
    tab.page.get_by_role("heading", name="Ledger", exact=True).wait_for()
    tab.page.go_back()
    tab.page.get_by_role("heading", name="Em risco", exact=True).wait_for()
    tab.settled()
    assert "lang=pt" in tab.query()
    assert tab.page.evaluate("document.documentElement.lang") == "pt-BR"
    tab.go("/findings?lang=en")


@pytest.mark.long
def test_a_watchlist_row_is_chosen_and_opened(tab: Reader) -> None:
    tab.go("/watchlist?seller=bia")
    tab.page.get_by_role("link", name="Open the process").click()
    tab.settled()
    tab.page.get_by_text("prc_acp").first.wait_for(timeout=RUN_SECONDS * 1000)
    assert tab.title() == "Process"


@pytest.mark.timeout(500)
def test_every_page_is_quiet_open_to_everyone_and_no_wider_than_its_window(
    portuguese_tab: Reader,
) -> None:
    """No error on the console, no other host asked, and no page wider than its window, in the
    language with the longer words. On each second page no finding of axe by WCAG 2.2 AA, by turns
    in the light theme and in the dark one; on each second of these no pale text, which follows from
    the theme. The first chart opens its table and its query. A long run looks at all of it on each
    page, at another width, with its tables and queries opened, in its other forms, and at the
    demo's (tests/acceptance). One tab goes through all pages, since loading one takes longer than
    looking."""
    is_long, faults = depth.is_long(), []
    for number, path in enumerate(ADDRESSES + FORMS if is_long else ADDRESSES):
        portuguese_tab.go(path)
        opens = is_long or number == 0
        if opens and (basis := portuguese_tab.page.get_by_text(BASIS)).count():
            basis.first.click()
            portuguese_tab.settled()
        if number == 0:
            portuguese_tab.page.get_by_text("from process_state, clock").wait_for()
        for width in (1440, 1024) if is_long else (1024,):
            portuguese_tab.page.set_viewport_size({"width": width, "height": 1600})
            if not portuguese_tab.fits_soon():
                faults.append((path, "wider than its window", str(width)))
        if is_long or number % 2 == 0:
            schemes = list(BACKGROUNDS) if is_long else [list(BACKGROUNDS)[number // 4 % 2]]
            of_contrast = is_long or number % 4 == 0
            found = portuguese_tab.found_by_axe(schemes, of_contrast=of_contrast)
            faults += [(path, *it) for it in found]
    assert faults == []
    assert portuguese_tab.page.evaluate("document.documentElement.lang") == "pt-BR"
    assert portuguese_tab.elsewhere == []
    assert portuguese_tab.complaints == []


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


def test_the_keyboard_reaches_everything(tab: Reader) -> None:
    """From the top of the watchlist, Tab goes through the navigation, the filters and the links: in
    a tab of its own, where nothing had the focus yet."""
    tab = Reader(tab.page.context.new_page(), tab.url).open("/watchlist")
    reached, unseen = [], []
    for _ in range(40):
        tab.page.keyboard.press("Tab")
        unseen += tab.page.evaluate(FOCUS_UNSEEN)
        reached.append(
            tab.page.evaluate(
                "(document.activeElement.getAttribute('aria-label')"
                " || document.activeElement.innerText || '').trim()"
            )
        )
    text = " | ".join(reached)
    for name in ("Watchlist", "As of (UTC)", "Earlier", "Expired", "ACP", "Open the process"):
        assert name in text, f"{name} is not among {reached}"
    assert unseen == []
    tab.page.close()


def test_a_list_is_downloaded_whole_with_what_was_asked_in_its_name(
    tab: Reader, tmp_path: Path
) -> None:
    """120 of its rows match, 50 are shown; the file has all, and its name says of what and when."""
    tab.go("/watchlist?type=ACI")
    tab.page.get_by_role("button", name="Download", exact=True).click()
    with tab.page.expect_download() as download:
        tab.page.get_by_role("button", name="CSV").click()
    file = tmp_path / "watchlist.csv"
    download.value.save_as(file)
    name = download.value.suggested_filename
    assert re.fullmatch(
        r"prazo_open_processes_state-EXPIRED\+OVERDUE_review_type-ACI_20\d\d-\d\d-\d\d\.csv", name
    )
    lines = file.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("process_id,seller_id,")
    assert sum(line.startswith("prc_") for line in lines) == 120


def test_a_page_prints_whole_and_without_its_controls(tab: Reader) -> None:
    """A grid scrolls on a screen and draws no row that is out of sight."""
    page = tab.page
    tab.turn("dark")
    tab.go(f"/watchlist?as_of={AS_OF}")
    rows = page.locator(".prazo-printed tbody tr")
    assert rows.count() == 50
    assert not rows.first.is_visible()
    assert page.get_by_role("button", name="Download").is_visible()
    page.emulate_media(media="print")
    assert rows.first.inner_text().split("\t")[:3] == ["prc_000", "sel_ana", "Expired"]
    assert rows.last.is_visible()
    for control in ("stHeader", "stPopover", "stDataFrame", "stPagination"):
        found = page.locator(f'[data-testid="{control}"]')
        assert not any(found.nth(n).is_visible() for n in range(found.count())), control
    assert page.evaluate(FITS)
    for ink in ("h1", '[data-testid="stMarkdownContainer"] p', ".prazo-printed td"):
        colour = page.locator(ink).first.evaluate("it => getComputedStyle(it).color")
        assert contrast(colour, BACKGROUNDS["light"]) >= 4.5, ink  # it was white on black paper
    ground = "getComputedStyle(document.querySelector('[data-testid=\"stApp\"]')).backgroundColor"
    assert page.evaluate(ground) == BACKGROUNDS["light"]
    tab.go(f"/process?process=prc_acp&as_of={AS_OF}")
    cut = """() => [...document.querySelectorAll('[data-testid="stVerticalBlock"]')]
        .filter(it => getComputedStyle(it).overflowY !== 'visible').length"""
    assert page.evaluate(cut) == 0
    page.emulate_media(media="screen")
    tab.turn("light")


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
