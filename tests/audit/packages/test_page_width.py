"""The pages of a package fit a sheet and a phone, however long what stands in them is."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from pipeline.audit import export as evidence
from pipeline.audit.request import Request, Scope
from pipeline.continuity.service import LedgerService
from pipeline.contract.body import MAX_ID_CHARACTERS
from pipeline.receive import ingest
from tests.app_pages.support.occurrences import attempt, before, collected, review, seller_event
from tests.audit import forgery
from tests.support.dashboard import chromium
from tests.support.stores import settings_in

PAGES = ("START-HERE.html", "data/report.html", "data/report.pt.html")
A4, NARROW, PHONE = 794, 500, 390
LONG = "W" * MAX_ID_CHARACTERS
"""As long as an id may be, of the widest letter, with nothing at which a line could break."""
PROCESS, SELLER = f"prc{LONG[3:]}", f"sel{LONG[3:]}"
DOTTED = "owner.address.country_code"
HISTORY = [
    seller_event(SELLER, "created", before(days=100)),
    review(
        PROCESS, before(days=40), seller=SELLER, fields=["revenue", DOTTED, LONG, f"{LONG[1:]}x"]
    ),
    collected(PROCESS, "invited", before(days=39), seller=SELLER, journey_id=LONG, actor=LONG),
    collected(PROCESS, "answered", before(days=38), seller=SELLER, journey_id=LONG, actor=LONG),
    *attempt(PROCESS, before(days=9), status=500, seller=SELLER, name=LONG),
    *attempt(PROCESS, before(days=8), error="timeout", seller=SELLER, name=f"{LONG[1:]}x"),
    {
        "kind": "override",
        "occurred_at": before(days=10).isoformat().replace("+00:00", "Z"),
        "process_id": PROCESS,
        "seller_id": SELLER,
        "actor": LONG,
        "reason": LONG,
    },
]
OVERFLOWING = """() => {
    const room = document.documentElement.clientWidth
    const isFree = it => !it.parentElement.closest('.wide')
    const isTooFar = it => it.getBoundingClientRect().right > room + 0.5
    const isCut = it =>
        !it.matches('.wide') && it.clientWidth && it.scrollWidth > it.clientWidth + 1
    const found = [...document.body.querySelectorAll('*')]
        .filter(it => isFree(it) && (isTooFar(it) || isCut(it)))
        .map(it => `${it.tagName} ${it.className}: ${it.textContent.trim().slice(0, 30)}`)
    return document.documentElement.scrollWidth > innerWidth ? ['the page', ...found] : found
}"""


SPLIT = """() => [...document.querySelectorAll('td .parts')]
    .flatMap(it => [...it.childNodes])
    .filter(it => it.nodeType === Node.TEXT_NODE && it.data.length < 30)
    .filter(it => {
        const text = document.createRange()
        text.selectNodeContents(it)
        return text.getClientRects().length > 1
    })
    .map(it => it.data)"""
"""Parts of paths in tables, between two dots, that stand in two lines."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Path]:
    folder = tmp_path_factory.mktemp("wide")
    lines = folder / "history.ndjson"
    lines.write_text("".join(json.dumps(line) + "\n" for line in HISTORY), encoding="utf-8")
    opened = LedgerService(settings_in(folder))
    try:
        assert not ingest.ingest(lines, opened.inbox, lambda _: None).bad
        opened.catch_up()
        wanted = Request(Scope(process_id=PROCESS), LONG, LONG, "user:test")
        files = forgery.read(evidence.export(opened, wanted, folder / "package.zip").path)
    finally:
        opened.close()
    made = []
    for name in PAGES:
        page = folder / Path(name).name
        page.write_bytes(files[name])
        made.append(page)
    return made


def test_no_page_of_a_package_is_wider_than_a_sheet_or_a_phone(pages: Sequence[Path]) -> None:
    """Only a table may scroll, and within its own frame. There a path broke inside a word."""
    found = []
    with chromium() as browser:
        page = browser.new_page()
        for file in pages:
            page.goto(file.as_uri())
            for details in page.locator("details").all():
                details.evaluate("it => { it.open = true }")
            assert LONG[-400:] in page.locator("body").inner_text()
            for width in (A4, NARROW, PHONE):
                page.set_viewport_size({"width": width, "height": 1123})
                found += [f"{file.name} at {width}: {it}" for it in page.evaluate(OVERFLOWING)]
                found += [f"{file.name} at {width}: {it}" for it in page.evaluate(SPLIT)]
        page.close()
    assert found == []


def test_the_first_page_alone_shows_no_link_to_what_is_not_beside_it(
    pages: Sequence[Path], tmp_path: Path
) -> None:
    """As Windows opens it from within the ZIP: only that file is unpacked, into a folder of its
    own. Whoever unpacked everything unfolds the link to the report, and it is there."""
    alone = tmp_path / PAGES[0]
    alone.write_bytes(pages[0].read_bytes())
    beside = tmp_path / "data" / "report.html"
    with chromium() as browser:
        page = browser.new_page()
        page.goto(alone.as_uri())
        assert page.get_by_role("heading", name="Unpack first").is_visible()
        links = page.get_by_role("link").all()
        assert {link.get_attribute("href") for link in links} == {"#en", "#pt"}
        page.get_by_text("I have unpacked it").click()
        beside.parent.mkdir()
        beside.write_bytes(pages[1].read_bytes())
        page.get_by_role("link", name="The report").click()
        assert page.url == beside.as_uri()
        page.close()
