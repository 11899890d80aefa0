"""Every page says when the last delivery came, and is red where none can come."""

import json
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from app_pages.parts import answers, freshness
from pipeline import instants
from pipeline.serve import intake
from pipeline.serve.intake import READY, Answer, Intake
from tests.app_pages.conftest import OpenLog, Visit, fill, follow
from tests.app_pages.support.occurrences import before, review, seller_event
from tests.app_pages.support.reading import page_text
from tests.support.dashboard import Reader
from tests.support.events import event
from tests.support.machine import free_port, wait_until
from tests.support.receiver import receiver

GONE = Answer(False, False, "none answers at http://127.0.0.1:8400 (Connection refused)")
FULL = Answer(True, False, "the disk [is](x) full")
BEFORE = timedelta(minutes=12, seconds=10)
FIRST, SECOND = (review(f"prc_{n}", before(days=40, minutes=n)) for n in (1, 2))
HISTORY = [FIRST, SECOND, seller_event("sel_bia", "enabled", before(days=90))]
SETTINGS = {"PRAZO_RECEIVER_PORT": str(free_port()), "PRAZO_UNMASK_SECONDS": "8"}


def found(receiver: Answer = READY, before: timedelta | None = BEFORE, *, silent: bool = False):
    """The intake as somebody finds it now."""
    now = instants.naive(instants.now())
    return Intake(before and now - before, now if silent else None, receiver)


@pytest.mark.parametrize(
    ("look", "english", "portuguese"),
    [
        (
            lambda: None,
            [("gray", "Asking the receiver …")],
            [("gray", "Consultando o receptor …")],
        ),
        (
            partial(found, before=None),
            [("gray", "No delivery yet")],
            [("gray", "Nenhuma entrega ainda")],
        ),
        (
            found,
            [("green", "Last delivery 12 min ago")],
            [("green", "Última entrega há 12 min")],
        ),
        (
            partial(found, before=timedelta(hours=50), silent=True),
            [("red", "No delivery for 2 days")],
            [("red", "Nenhuma entrega há 2 dias")],
        ),
        (
            partial(found, GONE),
            [("gray", "Last delivery 12 min ago"), ("red", "The receiver does not answer")],
            [("gray", "Última entrega há 12 min"), ("red", "O receptor não responde")],
        ),
        (
            partial(found, FULL, silent=True),
            [("red", "No delivery for 12 min"), ("red", "The receiver cannot record")],
            [("red", "Nenhuma entrega há 12 min"), ("red", "O receptor não consegue registrar")],
        ),
    ],
)
def test_the_freshness_line_says_how_the_intake_is(
    look: Callable[[], Intake | None],
    english: list[tuple[str, str]],
    portuguese: list[tuple[str, str]],
    open_log: OpenLog,
    visit: Visit,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(intake, "current", lambda _: look())
    with open_log([]):
        for language, expected in (("en", english), ("pt", portuguese)):
            line = next(it.value for it in visit(lang=language).markdown if "-badge[" in it.value)
            badges = re.findall(r":(\w+)-badge\[:material/\w+: ([^]]+)\]", line)
            assert len(badges) == len(expected) + 3  # the ledger's two, and the open door
        is_calm = [colour != "red" for colour, _ in badges]
        assert is_calm == sorted(is_calm)  # what is wrong comes first
        red_first = sorted(expected, key=lambda badge: badge[0] != "red")
        assert [it for it in badges if it in expected] == red_first


def test_a_red_badge_says_what_to_do_and_another_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert freshness._intake_help(None) is None
    assert freshness._intake_help(found()) is None
    assert freshness._intake_help(found(before=None)) is None
    silence = freshness._intake_help(found(silent=True))
    assert silence is not None
    assert "Ask the platform whether it sends" in silence
    full = freshness._intake_help(found(FULL, silent=True))
    assert full is not None
    assert "in the guide *Operations*. Prazo says: the disk \\[is\\]\\(x\\) full" in full


def test_a_page_says_how_far_its_oldest_answer_has_come(
    open_log: OpenLog, visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Figures may be older than the ledger, and say so; how one process stands may not."""
    monkeypatch.setattr(answers, "AGE_TO_COST", 1_000_000)
    opened, finished = before(days=3), before(days=1)
    with open_log([review("prc_1", opened)]) as service:
        for page in ("overview", "process"):
            assert "up to entry 1\n" in page_text(visit(page, as_of=None, process="prc_1"))
        fill(tmp_path, [review("prc_1", opened, status="FINISHED", at=finished)])
        follow(service)
        process = page_text(visit("process", as_of=None, process="prc_1"))
        overview = visit("overview", as_of=None)
        assert "up to entry 1\n" in page_text(overview)
        [redraw] = [it for it in overview.button if it.key == "redraw"]
        assert redraw.label == "1 new entry"
        assert "up to entry 2\n" in page_text(redraw.click().run())
    assert "up to entry 2\n" in process
    assert "finished on 31 May 2026, 09:00" in process


def test_a_page_that_counts_nothing_is_drawn_again_with_the_first_entries(
    open_log: OpenLog, visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who came while the first entries were read saw "No review has come yet" for good."""
    monkeypatch.setattr(answers, "AGE_TO_COST", 1_000_000)
    with open_log([]) as service:
        app = visit("watchlist", as_of=None)
        assert "up to entry 0\n" in page_text(app)
        fill(tmp_path, [review("prc_1", before(days=3))])
        follow(service)
        shown = page_text(app.run())
    assert "up to entry 1\n" in shown
    assert "No review has come yet" not in shown


def test_a_page_is_drawn_while_the_receiver_hangs(open_log: OpenLog, visit: Visit) -> None:
    """The system takes the connection, and nothing ever answers on it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with open_log([], receiver_port=port) as service:
            for _ in range(3):
                assert "Asking the receiver …" in page_text(visit())
            assert intake.watch(service).last() is None, "the first question is still open"
        listener.accept()[0].close()
        listener.settimeout(0)
        with pytest.raises(BlockingIOError):
            listener.accept()


@pytest.fixture(scope="module")
def tab(browser: Browser, url: str) -> Iterator[Reader]:
    """One for all: to load a page takes longer than to look at it."""
    with closing(browser.new_page(locale="en-GB")) as page:
        yield Reader(page, url).open("/findings")


def test_a_page_left_open_says_what_came_since_and_shows_it_on_a_click(
    tab: Reader, folder: Path
) -> None:
    tab.go("/watchlist")
    assert "2 processes" in tab.text()
    tab.page.get_by_text(re.compile(r"updated ([5-9]|\d\d) s ago")).wait_for(timeout=15_000)
    fill(folder, [review("prc_3", before(days=40)), seller_event("sel_ana", "enabled", before())])
    newer = tab.page.get_by_role("button", name="2 new entries")
    newer.wait_for(timeout=20_000)
    assert "2 processes" in tab.text(), "under whoever reads, nothing moves"
    newer.click()
    tab.page.get_by_text("3 processes").wait_for(timeout=15_000)
    tab.page.get_by_text("up to entry 5").wait_for()
    assert tab.complaints == []


def test_personal_data_on_a_page_left_open_is_masked_by_itself_once_its_time_is_over(
    tab: Reader,
) -> None:
    tab.go("/seller?seller_id=sel_bia")
    assert "ana@example.com" not in tab.text()
    tab.page.get_by_role("button", name="Show personal data").click()
    tab.page.get_by_label("Why is it needed?").fill("she is on the telephone")
    tab.page.get_by_label("Your name").fill("Bia")
    tab.page.get_by_role("button", name="Record the reason and show it").click()
    tab.page.get_by_text("Personal data is shown").wait_for(timeout=15_000)
    assert "ana@example.com" in tab.settled().text()
    tab.page.get_by_text("is masked; amounts are not").wait_for(timeout=40_000)
    assert "ana@example.com" not in tab.settled().text()
    assert tab.complaints == []


@pytest.mark.long
def test_a_browser_sees_red_once_the_receiver_was_killed(tab: Reader, folder: Path) -> None:
    with receiver(folder, RECEIVER_PORT=SETTINGS["PRAZO_RECEIVER_PORT"]) as running:
        assert json.loads(running.deliver(event()).body)["recorded"] == "new"
        tab.go("/findings")
        tab.page.get_by_text("Last delivery").wait_for(timeout=60_000)
        wait_until(lambda: "does not answer" not in tab.text())
        assert "cannot record" not in tab.text()
        running.kill()
        tab.page.get_by_text("The receiver does not answer").wait_for(timeout=60_000)
        tab.speak("pt")
        tab.page.get_by_text("O receptor não responde").wait_for(timeout=60_000)
