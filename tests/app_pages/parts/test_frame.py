"""Every page says as of when it stands, up to which entry, and whether the ledger is verified."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from app_pages.parts import frame, views
from pipeline import instants
from pipeline.continuity.service import LedgerService
from pipeline.errors import InboxUnavailable
from pipeline.inbox.clock import Clock
from pipeline.ledger.views.reader import Reader
from tests import depth
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support import answers
from tests.app_pages.support.occurrences import before, review
from tests.app_pages.support.reading import metrics, page_text, plain
from tests.support.lines import acp

PAGES = (
    "overview",
    "watchlist",
    "findings",
    "process",
    "seller",
    "submissions",
    "denials",
    "trends",
    "evidence",
    "ledger",
    "dictionary",
)
HISTORY = [review("prc_late", before(days=40)), review("prc_open", before(days=10))]


def test_every_page_states_its_instant_its_last_entry_its_proof_and_that_it_is_not_now(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        for page in depth.few(PAGES, 3):
            shown, now = page_text(visit(page)), page_text(visit(page, as_of=None))
            for stated in (
                "As of 1 Jun 2026, 09:00:00 · America/Sao_Paulo · what had occurred by then,"
                " in the log up to entry 2",
                "Log integrity: verified",
                "0 s behind",
                "Deliveries are not authenticated",
                "You are looking at 1 Jun 2026, 09:00:00, not at the present",
            ):
                assert stated in shown, page
            assert "You are looking at" not in now, page


def test_an_instant_may_be_written_with_any_offset(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        for written in ("2026-05-01T12:00:00Z", "2026-05-01T09:00-03:00", "2026-05-01 12:00"):
            assert metrics(visit(as_of=written))["EXPIRED · late"][0] == "0"


def test_what_is_not_an_instant_or_at_an_end_of_the_calendar_is_named_and_now_is_shown(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        for as_of in ("yesterday", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"):
            shown = page_text(visit(as_of=as_of))
            assert "That is not an instant, so the page shows the present" in shown
            assert "You are looking at" not in shown


def test_the_way_back_to_now_is_one_click(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        app = visit()
        next(button for button in app.button if button.label == "Back to now").click().run()
        assert "You are looking at" not in page_text(app)
        assert "as_of" not in app.query_params


def test_a_picked_instant_is_read_in_the_readers_zone(open_log: OpenLog, visit: Visit) -> None:
    """9 o'clock in São Paulo is 12 o'clock UTC."""
    with open_log(HISTORY):
        app = visit(as_of=None)
        app.datetime_input(key="picked").set_value(datetime.fromisoformat("2026-05-01T09:00")).run()
        assert app.query_params["as_of"] == "2026-05-01T12:00:00Z"
        assert metrics(app)["EXPIRED · late"][0] == "0"
        app.button(key="as_of yesterday").click().run()
        assert app.datetime_input(key="picked").value is None  # else nobody could pick it again


def test_the_zone_changes_what_is_written_and_no_state(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        there = visit("process", process="prc_late", tz="UTC")
        here = visit("process", process="prc_late")
    assert metrics(there)["Deadline"] == ("22 May 2026", "12:00 · 10 days late")
    assert metrics(here)["Deadline"] == ("22 May 2026", "09:00 · 10 days late")


def test_the_language_is_the_urls_else_the_browsers(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        assert visit().title[0].value == "Overview"
        assert visit(lang="pt").title[0].value == "Visão geral"
        assert visit(lang="tlh").title[0].value == "Overview"
        app = visit()
        app.context = {"locale": "pt-BR"}
        assert app.run().title[0].value == "Overview", "a choice once shown stays"


def test_a_ledger_that_fell_behind_or_was_not_verified_says_so(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_log(HISTORY) as service:
        sound = service.status()
        broken = replace(
            sound, lag_seconds=125.0, is_verified=False, problem="the disk [is](x) full"
        )
        monkeypatch.setattr(LedgerService, "status", lambda _: broken)
        app = visit()
    shown = page_text(app)
    assert "Log integrity: not verified" in shown
    assert "2 min 5 s behind" in shown
    assert "The ledger does not follow its inbox" in shown
    assert "the disk \\[is\\]\\(x\\) full" in app.error[0].value


def test_a_clock_that_is_off_is_said_on_every_page(open_log: OpenLog, visit: Visit) -> None:
    """Anyone who keeps the machine has to set it; what is shown goes by the believed time."""
    with open_log(HISTORY) as service:
        assert "clock is" not in page_text(visit())
        jumps = [0]
        service.inbox.machine = Clock(
            wall=lambda: instants.now() + jumps[0], is_synchronised=lambda: False
        )
        service.inbox.clock = service.inbox.machine.now
        jumps[0] = -2 * instants.HOUR
        views.forget_answers()  # the others count as an hour old
        shown = page_text(visit(as_of=None, tz="UTC"))
        assert "This machine's clock is -7,200 s off" in shown
        [as_of] = re.findall(r"As of ([^·]+) · UTC", shown)
        drawn_at = datetime.strptime(as_of, "%d %b %Y, %H:%M:%S").replace(tzinfo=UTC)
        assert abs(instants.from_datetime(drawn_at) - instants.now()) < instants.MINUTE
        assert "O relógio desta máquina está" in page_text(visit(lang="pt"))
        jumps[0] = 0
        assert "clock is" not in page_text(visit())
        machine = service.inbox.machine
        machine.hear_database(instants.since_boot(), instants.now())
        machine.hear_database(instants.since_boot(), instants.now() + instants.HOUR)
        assert "The database's clock is 3,600 s off" in page_text(visit())


def test_an_error_speaks_the_readers_language_and_keeps_its_own_words(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise InboxUnavailable("The inbox /x cannot be read", "disk I/O error", "look at the disk")

    with open_log(HISTORY):
        monkeypatch.setattr(Reader, "records", fail)
        answers.ask_again()
        english, portuguese = visit().error[0], visit(lang="pt").error[0]
    assert english.proto.title == "The inbox cannot be used right now"
    assert portuguese.proto.title == "A caixa de entrada não pode ser usada agora"
    own = "The inbox /x cannot be read: disk I/O error. To fix it: look at the disk"
    for error in (english, portuguese):
        assert own in plain(error.value)
    assert "O que foi confirmado está a salvo." in plain(portuguese.value)


def test_a_deadline_at_an_end_of_the_calendar_breaks_no_page(
    open_log: OpenLog, visit: Visit
) -> None:
    first = acp("e1", process_id="p1", customer_id="s1", deadline_at="0001-01-01T00:00:00Z")
    last = acp("e2", process_id="p2", customer_id="s2", deadline_at="9999-12-31T23:59:59Z")
    with open_log([first, last]):
        for page in ("overview", "findings"):
            assert page_text(visit(page))
        for number in "12":
            card = visit("watchlist", state=["EXPIRED", "PENDING"], row=f"p{number}")
            assert f"p{number}" in page_text(card)
            assert f"p{number}" in page_text(visit("process", process=f"p{number}"))
            assert f"s{number}" in page_text(visit("seller", seller_id=f"s{number}"))


def test_a_run_that_another_one_overtook_is_drawn_again_once(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine the way back met the run before it, which still wrote into the session, and
    the page had failed."""
    overtakes = iter([True])

    def overtaken(names: object) -> None:
        for _ in overtakes:
            raise RuntimeError("dictionary changed size during iteration")

    monkeypatch.setattr(frame, "bell", overtaken)
    with open_log(HISTORY):
        assert "2 processes" in page_text(visit("process"))
        overtakes = iter([True] * 9)
        with pytest.raises(AssertionError, match="This page failed"):
            visit("process")
    assert [*overtakes] == [True] * 7


def test_the_bell_stands_on_a_page_that_fails_and_its_age_is_the_pages(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Just where something was wrong it was missing, and it was older than the page said."""

    def of_noon(names: object) -> None:
        st.session_state["oldest_answer"] = (
            datetime(2026, 5, 1, 15, tzinfo=UTC).replace(tzinfo=None),
            1,
        )
        st.write("the bell")

    def broken(*asked: object, **named: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(frame, "bell", of_noon)
    with open_log(HISTORY):
        shown = page_text(visit("process"))
        assert "the bell" in shown
        assert "As of 1 May 2026, 12:00:00" in shown
        monkeypatch.setattr(Reader, "records", broken)
        answers.ask_again()
        app = AppTest.from_file(
            str(Path(frame.__file__).parents[2] / "app.py"), default_timeout=30
        ).run()
    assert ["This page failed" in it.value for it in app.error] == [True]
    assert "the bell" in page_text(app)


def test_what_lies_over_something_else_takes_its_ground_from_the_theme() -> None:
    """What is done with a list was white on white in the dark theme: its ground was said twice, and
    the first rule had the better of the second."""
    style = Path(frame.__file__).parents[1] / "static" / "page.css"
    on_screen, _, on_paper = style.read_text(encoding="utf-8").partition("@media print {")
    assert on_paper
    assert re.findall("background: #.*", on_screen) == []
