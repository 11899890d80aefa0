"""Ticks with a real mouse: they stay on their processes, and acts are recorded for these alone."""

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from pipeline.inbox import Inbox, open_inbox
from pipeline.log.ndjson import read_line
from tests.app_pages.support.occurrences import before, review
from tests.support.dashboard import Reader

ROW, HEAD = 36, 36
HISTORY = [
    review("prc_0", before(days=50)),
    review("prc_acp", before(days=79), kind="ACP"),
    *(review(f"prc_{n}", before(days=48 - n)) for n in range(1, 4)),
]


@pytest.fixture
def tab(browser: Browser, url: str) -> Iterator[Reader]:
    page = browser.new_page(locale="en-GB", viewport={"width": 1440, "height": 1100})
    page.set_default_timeout(12_000)
    yield Reader(page, url)
    page.close()


def tick(tab: Reader, number: int) -> None:
    box = tab.page.locator('[data-testid="stDataFrame"] canvas').first.bounding_box()
    assert box is not None
    tab.page.mouse.click(box["x"] + 16, box["y"] + HEAD + ROW * number + ROW / 2)
    tab.settled()


def notes(inbox: Inbox) -> list[tuple[str | None, Any]]:
    found = inbox.find(kind="note")
    return [(it.process_id, json.loads(it.body or b"")["reason"]) for it in found]


@pytest.mark.long
def test_ticks_stay_on_their_processes_through_filters_and_ends(tab: Reader, folder: Path) -> None:
    """They belonged to numbers of rows: after a click on a filter a note reached another one."""
    page = tab.open("/watchlist").page
    tick(tab, 1)  # prc_acp
    with contextlib.closing(open_inbox(str(folder / "inbox.db"))) as inbox:
        first = review("prc_first", before(days=60))
        inbox.append([read_line(json.dumps(first).encode(), recorded_by="test")])
        page.get_by_role("button", name="1 new entry").wait_for()
        tick(tab, 3)  # prc_2 still: a click in a list leaves its rows where they are
        page.get_by_role("button", name="2 ticked").wait_for()
        page.get_by_role("button", name=re.compile("^ACI")).click()
        page.get_by_role("button", name="1 ticked").wait_for()
        tab.settled()
        ended = review("prc_0", before(days=50), status="FINISHED", at=before(days=1))
        inbox.append([read_line(json.dumps(ended).encode(), recorded_by="test")])
        page.get_by_role("button", name="1 new entry").click()
        page.get_by_text("4 processes", exact=True).wait_for()
        tab.settled()
        page.get_by_role("button", name="1 ticked").click()
        page.get_by_role("radio", name="Note").click()
        page.get_by_label("Note", exact=True).last.fill("called")
        page.get_by_role("button", name="Record it", exact=True).click()
        page.get_by_text("A name is needed: it goes into the log.").wait_for()
        asked = page.get_by_label("Your name").last
        expect(asked).to_be_focused()
        expect(asked).to_be_in_viewport(ratio=1)
        page.keyboard.type("Ana")
        page.get_by_role("button", name="Record it", exact=True).click()
        page.get_by_role("button", name="None ticked").wait_for()
        page.get_by_text("Recorded for prc_2.").wait_for()
        assert notes(inbox) == [("prc_2", "called")]
    assert tab.complaints == []
