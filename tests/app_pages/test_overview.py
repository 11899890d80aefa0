"""The overview shows how many processes are late or close to it, and what to do today."""

import re
from datetime import timedelta
from pathlib import Path

import app_pages
from pipeline.ledger.views.catalogue import catalogue
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import (
    NOW,
    attempt,
    before,
    collected,
    review,
    seller_event,
)
from tests.app_pages.support.reading import chart, links, metrics, page_text, plain, unfold

# At NOW: one ACI 10 days late, one due within the day, one due in 5 days, one ACP pending,
# one ACP overdue with 15 days left, one finished in time.
HISTORY = [
    review("prc_late", before(days=40)),
    review("prc_today", before(days=29, hours=14)),
    review("prc_soon", before(days=25)),
    review("prc_pending", before(days=10), kind="ACP"),
    review("prc_tolerated", before(days=45), kind="ACP"),
    collected("prc_tolerated", "invited", before(days=44)),
    review("prc_done", before(days=20)),
    *attempt("prc_done", before(days=19), status=200),
    *attempt("prc_today", before(hours=3), status=400),
]
# Three of the four sellers decided in the last 30 days were enabled; three processes expired long
# ago; one delivery cannot be read.
WITH_MORE = [
    *HISTORY,
    *(seller_event(f"sel_{n}", "enabled", before(days=2 + n)) for n in (1, 2, 3)),
    seller_event("sel_4", "denied", before(days=6), decision_reasons=[], retry=False),
    *(review(f"prc_old_{n}", before(days=90 + n)) for n in range(3)),
    {"kind": "webhook", "occurred_at": "2026-05-30T12:00:00Z", "body": "not JSON"},
]
NEW = [review("prc_new", NOW - timedelta(days=1), kind="ACP")]


def test_the_four_figures_are_those_of_the_log(open_log: OpenLog, visit: Visit) -> None:
    with open_log(WITH_MORE):
        shown = metrics(visit())
    assert shown["EXPIRED · late"][0] == "4"
    assert shown["OVERDUE · in time"][0] == "3"
    assert shown["Due in 7 days"] == ("2", "1")
    assert shown["Denial rate"][0] == "25.0%"


def test_each_figure_has_its_course_and_its_change(drawn: Visit) -> None:
    """prc_late expired 10 days ago, so the week has not changed the number of expired ones."""
    app = drawn()
    courses = [
        plain(text.value.removeprefix("![").partition("](data:image")[0])
        for text in app.markdown
        if text.value.startswith("![")
    ]
    assert app.metric[0].delta == "0"
    assert courses[0] == "Day by day: " + ", ".join(["0"] * 19 + ["1"] * 11)
    assert courses[2] == "Day by day: 1, 0, 0, 0, 0, 1, 0"


def test_numbers_on_charts_are_written_the_readers_way(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        assert chart(visit())["layout"]["separators"] == ".,"
        assert chart(visit(lang="pt"))["layout"]["separators"] == ",."


def test_a_share_over_nothing_is_a_dash(drawn: Visit) -> None:
    app = drawn()
    assert metrics(app)["Denial rate"][0] == "–"
    assert [it.proto.delta_description for it in app.metric][2:4] == ["within 24 hours", ""]


def test_what_needs_action_is_listed_with_what_can_still_be_saved_first(drawn: Visit) -> None:
    app = drawn()
    shown = page_text(app)
    _, actions = shown.split("What needs action today")[1].split("1 due in 7 days 1 process")
    assert "Start a collection" in actions.split("Ask again")[0]
    assert "1 expired 1 due in 7 days 3 processes" in shown
    assert [query for label, query in links(app) if label.startswith("prc_")] == [
        f"process=prc_{name}" for name in ("today", "soon", "tolerated", "pending", "late")
    ]
    assert ("sel_ana", "seller_id=sel_ana") in links(app), "whose they are was on the next page"
    in_bold = [it.value for it in app.markdown if it.value.startswith("**")]
    assert not [it for it in in_bold if "Start a collection" in it], "it looked like a button"
    assert [it for it in links(app) if it[0] == "Act now (5)"] == [("Act now (5)", "queue=act_now")]
    assert "The platform refused what was sent (400)." in shown


def test_what_is_answered_is_sent_from_the_line_above_all_that_waits(
    open_log: OpenLog, visit: Visit
) -> None:
    """Its card is the last of those of what is ours to do: two screens down at 1280 x 720. Of
    `prc_untyped` nobody knows the seller's type, so nothing can be sent."""
    revenue = {"revenue": "1000_to_5000"}
    answers = {"prc_said": {**revenue, "type": "individual"}, "prc_untyped": revenue}
    said = [
        line
        for process, fields in answers.items()
        for line in (
            review(process, before(days=3), fields=["revenue"]),
            collected(process, "answered", before(days=1), fields=fields),
        )
    ]
    with open_log([*HISTORY, *said]):
        app = visit()
    led = [it for it in links(app) if it[0] in ("Act now (7)", "Submit the answers (1)")]
    assert led == [("Act now (7)", "queue=act_now"), ("Submit the answers (1)", "list=ready")]
    # The card counted both: the same words led to two numbers.
    assert ("Submit the answers: view 1", "list=ready") in links(app)
    assert "2 processes of an unknown type of seller: 1" in page_text(app)


def test_the_change_of_the_denial_rate_says_how_many_of_how_many(
    open_log: OpenLog, visit: Visit
) -> None:
    """It fell by half, from one seller to two."""
    history = [
        review("prc_1", before(days=3)),
        seller_event("sel_1", "denied", before(days=2)),
        seller_event("sel_2", "enabled", before(days=2)),
        seller_event("sel_3", "denied", before(days=9)),
    ]
    with open_log(history):
        rate = visit().metric[3]
    assert (rate.value, rate.delta) == ("50.0%", "-50.0 points")
    assert rate.proto.delta_description == "1 of 2, after 1 of 1"


def test_each_figure_leads_to_what_it_counts(open_log: OpenLog, visit: Visit) -> None:
    """And what is to be done stands before any chart."""
    with open_log(WITH_MORE):
        app = visit()
    quarantine, *figures = [query for label, query in links(app) if label.startswith("View ")][:5]
    led = set(links(app))  # to one seller from each of their reviews
    assert len({label for label, _ in led}) == len(led), "read aloud, each link says where it leads"
    assert quarantine == ""
    of_all = ["queue=all&state=EXPIRED", "queue=all&state=OVERDUE", "queue=all&due=7"]
    assert figures == [*of_all, "ends=2026-06-01"]
    assert app.header[0].value == "What needs action today"


def test_deadlines_are_bars_by_urgency_with_a_line_at_today(drawn: Visit) -> None:
    figure = chart(drawn())
    bars = {
        trace["name"]: dict(zip(trace["x"], trace["y"], strict=True)) for trace in figure["data"]
    }
    assert bars == {
        "Late": {"2026-05-22": 1},
        "Within 7 days": {"2026-06-01": 1, "2026-06-06": 1},
        "Later": {"2026-06-16": 1, "2026-07-21": 1},
    }
    line = figure["layout"]["shapes"][0]
    assert line["x0"] == line["x1"] == "2026-05-31T12:00:00"
    assert line["line"]["color"] not in ("black", "#000", "#000000", None)


def test_deadlines_long_past_are_counted_where_they_are_not_drawn(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(WITH_MORE):
        app = visit()
        assert "Not drawn: 3 processes whose deadline passed more than 30 days ago." in page_text(
            app
        )
        drawn = [sum(trace["y"]) for trace in chart(app)["data"]]
    assert drawn == [1, 2, 2]


def test_with_nothing_overdue_the_page_says_so(open_log: OpenLog, visit: Visit) -> None:
    with open_log([*NEW, collected("prc_new", "invited", NOW - timedelta(hours=1))]):
        assert "Nothing has to be done today." in page_text(visit())


def test_each_chart_says_what_it_shows_and_what_it_rests_on(
    open_log: OpenLog, visit: Visit
) -> None:
    """prc_today is due first, in ten hours: 22:00 UTC is 19:00 in São Paulo."""
    with open_log(HISTORY):
        app = visit()
        shown = page_text(app)
        assert "Late: 1; due within 7 days: 2" in shown
        assert "The next deadline: 1 Jun 2026, 19:00." in shown
        # By "View 1 expired" it took four clicks: who is late, the worst first, and then the names.
        worst = "first=severe&state=EXPIRED&state=OVERDUE"
        assert ("Sellers, most severe first", worst) in links(app)
        # A share of all would count four that can still be finished as not finished in time.
        assert "Opened in the last 90 days: 6; finished in time: 1" in shown
        assert "Open and still in time: 4. Trends has the share in time of what was due." in shown
        assert not app.dataframe
        unfold(app, "behind_review_flow")
    rows = app.dataframe[0].value
    assert list(zip(rows["review_type"], rows["ends_as"], rows["processes"], strict=True)) == [
        ("ACI", "expired", 1),
        ("ACI", "finished_in_time", 1),
        ("ACI", "overdue", 2),
        ("ACP", "overdue", 1),
        ("ACP", "pending", 1),
    ]
    assert any("from process_state" in block.value for block in app.code)


def test_quarantine_and_deliveries_without_authentication_are_in_plain_sight(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(WITH_MORE):
        app = visit()
    assert "1 delivery is in quarantine" in page_text(app)
    assert [it.proto.title for it in app.warning if it.proto.title.startswith("Deliver")] == [
        "Deliveries are not authenticated"
    ]


def test_a_day_is_as_wide_as_a_day_however_few_there_are(open_log: OpenLog, visit: Visit) -> None:
    """A single deadline was drawn as a plank over the whole chart."""
    with open_log(NEW):
        [drawn] = [trace for trace in chart(visit())["data"] if trace["x"]]
    assert drawn["width"] == 18 * 3600 * 1000


def test_an_empty_ledger_has_nothing_to_verify(open_log: OpenLog, visit: Visit) -> None:
    with open_log([]):
        shown = page_text(visit())
    assert "Nothing to verify yet" in shown
    assert "Log integrity: not verified" not in shown


def test_a_wait_without_time_left_has_one_name_on_the_page(open_log: OpenLog, visit: Visit) -> None:
    """Its row said to call the seller, and the action below to wait for them."""
    asked = [
        review("prc_close", before(days=29, hours=14)),
        collected("prc_close", "invited", before(hours=5)),
    ]
    with open_log(asked):
        text = page_text(visit())
    assert "Call the seller: view 1" in text
    assert "make sure that it reached them, and record what came of the call" in text
    assert "Wait for the seller" not in text


def test_as_many_rows_are_named_first_as_the_view_gives() -> None:
    """The page is a script, so its number is read from its text."""
    page = (Path(app_pages.__path__[0]) / "pages/overview.py").read_text("utf-8")
    on_page = re.findall(r"^FIRST = (\d+)", page, re.MULTILINE)
    in_view = re.findall(r"(\d+)\s*\) as first_processes", catalogue()["open_actions"].sql)
    assert on_page == in_view == ["5"]
