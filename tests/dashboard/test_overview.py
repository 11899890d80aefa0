"""The overview shows how many processes are late or close to it, and what to do today."""

from datetime import timedelta

from tests.dashboard.conftest import OpenLog, Visit
from tests.dashboard.occurrences import (
    NOW,
    attempt,
    before,
    collected,
    review,
    seller_event,
)
from tests.dashboard.reading import chart, metrics, page_text, plain

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


def test_the_four_figures_are_those_of_the_log(open_log: OpenLog, visit: Visit) -> None:
    """Three of the four sellers decided in the last 30 days were enabled."""
    decided = [
        seller_event("sel_1", "enabled", before(days=3)),
        seller_event("sel_2", "enabled", before(days=4)),
        seller_event("sel_3", "enabled", before(days=5)),
        seller_event("sel_4", "denied", before(days=6), decision_reasons=[], retry=False),
    ]
    with open_log([*HISTORY, *decided]):
        shown = metrics(visit())
    assert shown["Expired"][0] == "1"
    assert shown["Overdue"][0] == "3"
    assert shown["Due in 7 days"] == ("2", "1")
    assert shown["Denial rate"][0] == "25.0 %"


def test_each_figure_has_its_course_and_its_change(open_log: OpenLog, visit: Visit) -> None:
    """prc_late expired 10 days ago, so the week has not changed the number of expired ones."""
    with open_log(HISTORY):
        app = visit()
    courses = [
        plain(it.value.removeprefix("![").partition("](data:image")[0])
        for it in app.markdown
        if it.value.startswith("![")
    ]
    assert app.metric[0].delta == "0"
    assert courses[0] == "Day by day: " + ", ".join(["0"] * 19 + ["1"] * 11)
    assert courses[2] == "Day by day: 1, 0, 0, 0, 0, 1, 0"


def test_a_share_over_nothing_is_a_dash(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        assert metrics(visit())["Denial rate"][0] == "–"


def test_what_needs_action_is_listed_worst_first_with_what_to_do(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        shown = page_text(visit())
    first, second, third = (
        shown.index("Start a collection"),
        shown.index("Mend the payload"),
        shown.index("Remind the seller"),
    )
    assert first < second < third
    assert "1 expired 1 due in 7 days 2 processes" in shown
    assert "The platform found the payload invalid (400). Correct it and send it anew." in shown


def test_deadlines_are_bars_by_urgency_with_a_line_at_today(
    open_log: OpenLog, visit: Visit
) -> None:
    with open_log(HISTORY):
        figure = chart(visit())
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
    old = [review(f"prc_old_{n}", before(days=90 + n)) for n in range(3)]
    with open_log([*HISTORY, *old]):
        app = visit()
        assert "Not drawn: 3 processes whose deadline passed more than 30 days ago." in page_text(
            app
        )
        drawn = [sum(trace["y"]) for trace in chart(app)["data"]]
    assert drawn == [1, 2, 2]


def test_an_empty_log_says_what_to_do_first(open_log: OpenLog, visit: Visit) -> None:
    with open_log([]):
        shown = page_text(visit())
    assert "No review process is in the log yet" in shown
    assert "prazo ingest deliveries.ndjson" in shown


def test_with_nothing_overdue_the_page_says_so(open_log: OpenLog, visit: Visit) -> None:
    with open_log([review("prc_new", NOW - timedelta(days=1), kind="ACP")]):
        assert "Nothing is overdue." in page_text(visit())
