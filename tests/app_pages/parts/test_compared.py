"""A list beside how it stood at an earlier instant, on pages and in files."""

import csv
import io
from datetime import datetime
from zoneinfo import ZoneInfo

from app_pages.parts import downloads
from pipeline import instants
from tests import depth
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import AS_OF, before, review
from tests.app_pages.support.reading import page_text, press

HISTORY = [
    review("prc_went", before(days=40)),
    review("prc_went", before(days=40), status="FINISHED", at=before(days=1)),
    review("prc_changed", before(days=30, hours=-2), kind="ACI", at=before(days=29)),
    review("prc_came", before(days=1), kind="ACI"),
    review("prc_same", before(days=50)),
]
LATER = "2026-06-01T20:00:00Z"
EARLIER = "2026-05-30T12:00:00Z"


def compared(app) -> dict[str, tuple[list[str], dict[str, object]]]:  # type: ignore[no-untyped-def]
    """Process -> what became of it, and the values that are shown."""
    grid = app.dataframe[0].value
    return {
        row["process_id"]: (list(row["difference"]), row) for row in grid.to_dict(orient="records")
    }


def test_rows_that_came_went_and_changed_are_counted_and_shown_side_by_side(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        app = visit("watchlist", as_of=LATER, compare=EARLIER)
        found, text = compared(app), page_text(app)
        press(app, "Stop comparing")
        assert "compare" not in app.query_params
    assert "1 changed · 1 new · 1 gone" in text
    assert {name: kind for name, (kind, _) in found.items()} == {
        "prc_changed": ["changed"],
        "prc_came": ["new"],
        "prc_went": ["gone"],
    }
    changed = found["prc_changed"][1]
    assert (list(changed["then_state"]), list(changed["state"])) == (
        ["OVERDUE · in time"],
        ["EXPIRED · late"],
    )


def test_an_instant_is_picked_again_after_another_comparison(
    open_log: OpenLog, visit: Visit
) -> None:
    """It stayed in the calendar, where picking it once more changed nothing."""
    instant = datetime.fromisoformat("2026-05-30T09:00")
    with open_log(HISTORY):
        app = visit("watchlist", as_of=LATER)
        for follows in ("Stop comparing", "Last Friday"):
            app.datetime_input(key="compare picked").set_value(instant).run()
            assert app.query_params["compare"] == EARLIER
            buttons = [it for it in app.button if it.label == follows]
            buttons[-1].click().run()
            assert app.datetime_input(key="compare picked").value is None


def test_filters_hold_at_both_instants_and_a_name_stands_for_an_instant(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        expired = page_text(
            visit("watchlist", as_of=LATER, compare=EARLIER, queue="all", state="EXPIRED")
        )
        by_name = page_text(visit("watchlist", as_of=LATER, compare="yesterday"))
        nonsense = page_text(visit("watchlist", as_of=LATER, compare="soon"))
        later = page_text(visit("watchlist", as_of=EARLIER, compare=LATER))
    assert "0 changed · 1 new · 1 gone" in expired
    assert "Compared with 31 May 2026, 23:59" in by_name
    assert "Compared with" not in nonsense
    # What will come would be said to be gone.
    assert "That is not earlier than what the page shows" in later
    assert "new ·" not in later


def test_every_list_can_be_compared(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        for page in depth.few(("findings", "alerts", "since"), 2):
            assert "Compared with" in page_text(visit(page, as_of=LATER, compare=EARLIER)), page


def test_a_file_says_what_differs_and_since_when(open_log: OpenLog) -> None:
    question = downloads.Question(
        "open_processes",
        instants.parse(LATER),
        compared_with=instants.parse(EARLIER),
        columns=("process_id", "state"),
    )
    reader = downloads.Reader("en", ZoneInfo("UTC"))
    with open_log(HISTORY):
        content = downloads.maker(question, "csv", reader)().content
        sheet = downloads.maker(question, "xlsx", reader)().content
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
    assert [[*row.values()] for row in rows] == [
        ["changed", "prc_changed", "OVERDUE", "EXPIRED"],
        ["came", "prc_came", "", "OVERDUE"],
        ["went", "prc_went", "EXPIRED", ""],
    ]
    assert list(rows[0]) == ["difference", "process_id", "then_state", "state"]
    assert sheet[:2] == b"PK"
    moment = instants.naive(instants.parse(AS_OF) or 0)
    name = downloads.file_name(question, "csv", moment, reader.zone)
    assert name == "prazo_open_processes_since-2026-05-30T1200Z_2026-06-01T1200Z.csv"
