"""The submissions page tells how attempts ended, and each of them."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from app_pages.charts.deadlines import deadline_bars
from app_pages.charts.denials import return_weeks
from app_pages.charts.figure import AMBER, GREEN, RED, share_bars
from app_pages.charts.outcomes import LOOKS, outcome_days
from app_pages.language import formats
from pipeline.language import codes
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import attempt, before, collected, review
from tests.app_pages.support.reading import chart, links, metrics, page_text, table
from tests.support.dashboard import BACKGROUNDS, contrast

# Three processes: one accepted at once, one after a failure, one that failed for good.
HISTORY = [
    *(review(f"prc_{n}", before(days=10)) for n in (1, 2, 3)),
    *attempt("prc_1", before(days=9), status=200),
    *attempt("prc_2", before(days=8), status=500),
    *attempt("prc_2", before(days=8, minutes=-5), status=200),
    *attempt("prc_3", before(days=7), status=400),
]


def test_the_figures_are_those_of_the_rules(drawn: Visit) -> None:
    shown = metrics(drawn("submissions"))
    assert shown["Accepted first time"][0] == "33.3%"
    assert shown["Recovered by a retry"][0] == "50.0%"
    assert shown["Waiting for a retry"][0] == "0"
    assert shown["Given up"] == ("0", "none")


def test_outcomes_are_shares_of_the_attempts_at_each_place(drawn: Visit) -> None:
    figure = chart(drawn("submissions"))
    shares = {
        trace["name"]: dict(zip(trace["y"], trace["x"], strict=True)) for trace in figure["data"]
    }
    third = 1 / 3
    assert shares == {
        "Accepted": {"attempt 1": third, "attempt 2": 1.0},
        "Platform error": {"attempt 1": third},
        "Payload refused": {"attempt 1": third},
    }
    # Two columns of set width had 112 pixels each on a phone, and names of 145 ran into each other.
    assert [it["text"] for it in figure["layout"]["annotations"]] == ["n = 1", "n = 3"]
    legend = figure["layout"]["legend"]
    assert "entrywidth" not in legend
    assert legend["maxheight"] == 0.8


def test_weeks_show_what_was_accepted_at_once_later_and_not_so_far(drawn: Visit) -> None:
    """Seven to nine days before 1 June all three processes were in the week that ends on 25 May.
    `prc_2` was accepted some five minutes after its first failure."""
    app = drawn("submissions", by="week")
    traces = chart(app, 1)["data"]
    assert {
        trace["name"]: dict(zip(trace["x"], trace["y"], strict=True))["25 May"] for trace in traces
    } == {"Accepted first time": 1, "Accepted later": 1, "Not accepted so far": 1}
    assert [sum(trace["y"]) for trace in traces] == [1, 1, 1]
    assert "half took at most 5 min 1 s from the first failure" in page_text(app)


def test_a_choice_is_marked_also_where_the_page_before_had_another_input_of_that_key(
    open_log: OpenLog, visit: Visit
) -> None:
    """After the Watchlist, whose key `by` holds a list, none of four was marked as the chosen."""
    with open_log(HISTORY):
        app = visit("watchlist")
        app.switch_page("app_pages/pages/submissions.py").run()
        assert app.segmented_control(key="by").value == "day"


def test_attempts_are_listed_newest_first_and_filtered(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        every = visit("submissions").dataframe[0].value
        failed = visit("submissions", outcome="platform_error").dataframe[0].value
        one = visit("submissions", of="_3").dataframe[0].value
    assert list(every["process_id"]) == ["prc_3", "prc_2", "prc_2", "prc_1"]
    assert [list(cell) for cell in every["outcome"]] == [
        ["Payload refused"],
        ["Accepted"],
        ["Platform error"],
        ["Accepted"],
    ]
    assert list(failed["process_id"]) == ["prc_2"]
    assert list(one["status"]) == [400]


def test_a_number_beside_a_filter_counts_what_the_other_filters_leave(
    open_log: OpenLog, visit: Visit
) -> None:
    """Also those that have no number: a part of the id, and what a figure or a bar led to."""
    with open_log(HISTORY):
        every, of_second, first = (
            set(visit("submissions", **asked).multiselect(key="outcome").options)
            for asked in ({}, {"of": "_2"}, {"place": "1", "outcome": "accepted"})
        )
    assert {"Accepted (2)", "Platform error (1)", "Payload refused (1)"} <= every
    assert {"Accepted (1)", "Platform error (1)", "Payload refused (0)"} <= of_second
    assert {"Accepted (1)", "Platform error (1)", "Payload refused (1)"} <= first


def test_an_attempt_leads_to_its_process_and_its_seller(drawn: Visit) -> None:
    app = drawn("submissions", outcome="platform_error")
    assert "Platform error HTTP 500" in page_text(app)
    assert links(app)[-2:] == [
        ("Open the process", "process=prc_2"),
        ("Open the seller", "seller_id=sel_ana"),
    ]


def test_with_nothing_sent_the_page_says_how_to_begin(open_log: OpenLog, visit: Visit) -> None:
    with open_log([review("prc_1", before(days=1))]):
        shown = page_text(visit("submissions"))
    assert "Nothing has been submitted yet" in shown
    assert "Send in the guide For the marketplace's developers" in shown


def test_before_anything_is_sent_what_lacks_a_type_of_seller_is_listed(
    open_log: OpenLog, visit: Visit
) -> None:
    """It was, only where something else was ready to be sent."""
    answered = [
        review("prc_1", before(days=2)),
        collected("prc_1", "answered", before(days=1), fields={"revenue": "1000_to_5000"}),
    ]
    with open_log(answered):
        shown = page_text(visit("submissions"))
    assert "Nothing has been submitted yet" in shown
    assert "Answered, but of an unknown type of seller (1)" in shown


def test_what_needs_a_person_is_listed_with_the_reason(drawn: Visit) -> None:
    """prc_3 was refused with 400; its deadline is 30 days after its request."""
    app = drawn("submissions", list="waiting")
    shown = page_text(app)
    assert "Correct what was refused" in shown
    assert "Where a value is wrong, ask the seller for it again" in shown
    assert "Payload refused 20 days left" in shown
    assert links(app)[0] == ("prc_3", "process=prc_3")
    assert "In the last 30 days 4 attempts were sent, 2 accepted." in page_text(app)


def test_a_bar_leads_to_the_attempts_that_it_stands_for(open_log: OpenLog, visit: Visit) -> None:
    """What is in the URL after a click; the click itself is in a browser's test of the layout."""
    many = [
        *HISTORY,
        *(step for n in range(6) for step in attempt("prc_4", before(hours=9 - n), status=500)),
    ]
    with open_log(many):
        second = visit("submissions", place="2", outcome="accepted").dataframe[0].value
        later = visit("submissions", place="5").dataframe[0].value
        that_day = visit("submissions", day=str(before(days=9).date())).dataframe[0].value
    assert list(second["process_id"]) == ["prc_2"]
    assert list(later["attempt_number"]) == [6, 5]
    assert list(that_day["process_id"]) == ["prc_1"]


def test_a_bar_is_as_high_as_what_it_counts() -> None:
    """One of thirty was cut off at eight, with an arrow above it."""
    today = date(2026, 6, 1)
    attempts = [
        {"day": today - timedelta(n), "outcome": "accepted", "attempts": 30 if n == 1 else 3}
        for n in range(1, 10)
    ]
    days = [
        {"day": today + timedelta(n), "due": 90 if n == 5 else 3, "urgency": "soon"}
        for n in range(1, 8)
    ]
    weeks = [
        {"ends_on": today - timedelta(7 * n), "came_back": 60 if n == 2 else 3, "cured": 1}
        for n in range(12)
    ]
    for drawn in (
        outcome_days(attempts, today, 30),
        deadline_bars([{**day, "is_older": False} for day in days], today),
        return_weeks(weeks),
    ):
        assert drawn["layout"]["yaxis"]["rangemode"] == "tozero"
        assert "range" not in drawn["layout"]["yaxis"]


def test_ticks_of_few_are_whole_numbers() -> None:
    """One deadline had its number twice beside it: at its height, and at half of that."""
    today = date(2026, 6, 1)
    one = {"day": today, "due": 1, "urgency": "soon", "is_older": False}
    assert deadline_bars([one], today)["layout"]["yaxis"]["dtick"] == 1
    assert "dtick" not in deadline_bars([{**one, "due": 9}], today)["layout"]["yaxis"]


def test_no_two_outcomes_look_alike_and_red_differs_from_green_by_more_than_colour() -> None:
    sent = set(codes.OUTCOMES) - {"refused"}  # of which nothing was sent
    assert set(LOOKS) == sent
    assert len(set(LOOKS.values())) == len(LOOKS)
    for colour, pattern in LOOKS.values():
        assert (colour in (RED, AMBER)) <= bool(pattern)
        assert (colour == GREEN) <= (not pattern)
        for background in BACKGROUNDS.values():
            assert contrast(in_rgb(colour), background) >= 3, colour


def in_rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))})"


def test_the_filters_say_how_many_there_are_of_each(drawn: Visit) -> None:
    shown = page_text(drawn("submissions"))
    for label in ("Accepted (2)", "Platform error (1)", "Conflict (0)"):
        assert label in shown


def test_what_follows_a_failure_is_said_and_how_long_it_took(drawn: Visit) -> None:
    """`prc_2` was accepted with the same bytes five minutes after its failure; of `prc_3`, whose
    failure came last, nothing followed."""
    app = drawn("submissions")
    shown = page_text(app)
    assert "After “Platform error”: 100.0% of single retries accepted" in shown
    assert "With the same content right after “Platform error”: 1 accepted of 1." in shown
    assert "accepted of 0" not in shown  # nothing was sent with changed content
    assert "the accepted ones took 5 min 1 s added up." in shown
    assert "only once" not in shown  # nobody waited beside another
    assert "5 min 1 s from first failures to acceptance, after “Platform error”" in shown
    assert table(app, "First failure") == [
        ["Platform error", "1", "1", "0", "–", "5 min 1 s", "5 min 1 s", "5 min 1 s"],
        ["Payload refused", "1", "0", "1", "7 days", "–", "–", "–"],
    ]


def test_the_longest_time_from_failures_counts_overlaps_once(
    open_log: OpenLog, visit: Visit
) -> None:
    """Two waited for the same five minutes, another for eight: after a payload of ours, whose cost
    follows in the title what the platform's failures cost, though it is the greatest. What has not
    been accepted comes first: it waits still."""
    history = [
        *(review(f"prc_{n}", before(days=10)) for n in (1, 2, 3)),
        *(it for n in (1, 2) for it in attempt(f"prc_{n}", before(days=8), status=500)),
        *(it for n in (1, 2) for it in attempt(f"prc_{n}", before(days=8, minutes=-5), status=200)),
        *attempt("prc_3", before(days=7), status=400),
        *attempt("prc_3", before(days=7, minutes=-8), status=200),
        review("prc_4", before(days=10)),
        *attempt("prc_4", before(days=6), status=500),
    ]
    with open_log(history):
        app = visit("submissions")
    shown, the_platforms = page_text(app), "5 min 1 s from first failures to acceptance, after"
    assert (
        f"Not accepted so far: 1; {the_platforms} “Platform error”;"
        " 8 min 1 s from first failures to acceptance, after “Payload refused”" in shown
    )
    link = f"[Not accepted so far: 1; {the_platforms} “Platform error”](#failure_time_by_month)"
    assert link in [it.value for it in app.markdown]
    assert (
        "the accepted ones took 10 min added up. Counting time in which several waited only once,"
        " 5 min 1 s." in shown
    )


def test_without_an_acceptance_no_time_from_failures_is_said(
    open_log: OpenLog, visit: Visit
) -> None:
    history = [
        *(review(f"prc_{n}", before(days=10)) for n in (1, 2, 3)),
        *(it for n in (1, 2) for it in attempt(f"prc_{n}", before(days=8), status=500)),
        *attempt("prc_3", before(days=7), status=400),
    ]
    with open_log(history):
        shown = page_text(visit("submissions"))
    assert "First failures in May 2026: 3, none accepted yet" in shown
    assert "First failed in May 2026 as “Platform error”: 2; accepted since: 0." in shown
    assert "the accepted ones took" not in shown
    # It had a count, and no time: two have waited for eight days each.
    assert "Not accepted so far: 2, which have waited 16 days in all until now." in shown


def test_attempts_are_counted_by_week_and_by_the_hour_of_the_day(
    open_log: OpenLog, visit: Visit
) -> None:
    """All at noon, UTC. Seven days before 1 June 2026 a week began, in which one attempt failed."""
    with open_log(HISTORY):
        weeks = visit("submissions", by="attempts")
    assert "Sent in the last whole week: 1. Of these failed: 1." in page_text(weeks)
    assert "Of attempts in the last 28 days 2 of 4 failed (50.0%)." in page_text(weeks)
    drawn = {trace["name"]: sum(trace["y"]) for trace in chart(weeks, 2)["data"]}
    assert drawn == {"Accepted": 2, "Platform error": 1, "Payload refused": 1}


def ended(ends: Sequence[tuple[float, int]]) -> list[dict[str, Any]]:
    """A process for each attempt, which ended so many days ago with that status."""
    return [
        line
        for n, (days, status) in enumerate(ends)
        for line in (
            review(f"prc_{n}", before(days=29)),
            *attempt(f"prc_{n}", before(days=days), status=status),
        )
    ]


def test_an_outage_is_named_by_its_day_and_by_its_hour(open_log: OpenLog, visit: Visit) -> None:
    """Ten of twelve failed at two on one day. At noon more failed, of many more: that hour stood in
    the title. One failure of one attempt says little."""
    ends = [(10.4, 500)] * 10 + [(10.4, 200)] * 2 + [(9.2, 500)]
    ends += [(day, 500) for day in range(1, 12)] + [(day, 200) for day in range(1, 25)] * 2
    with open_log(ended(ends)):
        app = visit("submissions", tz="UTC")
        shown, elsewhere = page_text(app), visit("submissions", tz="America/Sao_Paulo")
    # Of the 22 failures, that day has 10: the hours are of no one day.
    hours = "Of hours with 10 attempts or more, the greatest share fails between"
    title = f"{hours} 02:00 and 03:00: 10 of 12 (83.3%)"
    assert f"[{title}](#outcomes_by_hour)" in [it.value for it in app.markdown]
    assert title in shown
    # Two at night, UTC, is eleven in the evening in São Paulo.
    late = f"{hours} 23:00 and 00:00: 10 of 12 (83.3%)"
    assert late in page_text(elsewhere)
    assert "Hours are of America/Sao_Paulo." in page_text(elsewhere)
    [hours] = [it for it in chart(elsewhere, 2)["data"] if it["name"] == "Platform error"]
    assert hours["y"][hours["x"].index("23")] == 10
    assert "11 of 15 failed on 22 May" in shown
    assert "On 22 May 11 of 15 failed; on the other days 19.3%." in shown


def test_hours_that_one_day_makes_say_that_day(open_log: OpenLog, visit: Visit) -> None:
    """An hour of one outage was named as the one that fails most."""
    ends = [(10.4, 500)] * 10 + [(10.4, 200)] * 2 + [(day, 200) for day in range(1, 25)]
    with open_log(ended(ends)):
        shown = page_text(visit("submissions", tz="UTC"))
    assert "By the hour, most failures are those of 22 May: 10 of 10" in shown
    assert "greatest share" not in shown
    assert "Most of these, 10, failed on 22 May: the hours show that day above all." in shown


def test_failures_that_are_mostly_of_one_process_name_it(open_log: OpenLog, visit: Visit) -> None:
    """Ten resends of one process at two: that day and that hour stood there as the platform's. Of
    the twelve failures of that day, ten are its."""
    burst = [
        review("prc_burst", before(days=29)),
        *(
            line
            for n in range(10)
            for line in attempt("prc_burst", before(days=10.4, minutes=-n), status=500)
        ),
    ]
    others = [(10.3, 500)] + [(day, 500) for day in range(1, 15)]
    others += [(day, 200) for day in range(1, 25)] * 2
    with open_log([*burst, *ended(others)]):
        shown = page_text(visit("submissions", tz="UTC"))
    assert "12 of 14 failed on 22 May; of one process, prc_burst: 10 of 12" in shown
    hours = "the greatest share fails between 02:00 and 03:00: 10 of 10 (100.0%)"
    assert f"{hours}; all of one process: prc_burst" in shown
    retries = "After “Platform error”: 0.0% of single retries accepted"
    assert f"{retries}; all of one process: prc_burst" in shown


def test_hours_are_those_of_a_zone_only_where_they_are_whole_hours_of_utc_all_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In Lisbon summer time began on 29 March 2026; Kolkata is five and a half hours ahead."""
    march = before(days=70).replace(tzinfo=None)  # the 23rd

    def ahead(zone: str, first: datetime) -> int | None:
        monkeypatch.setattr(formats, "zone", lambda: ZoneInfo(zone))
        return formats.hours_ahead(first, first + timedelta(days=28))

    assert ahead("Europe/Lisbon", march - timedelta(days=28)) == 0
    assert ahead("Europe/Lisbon", march) is None
    assert ahead("Europe/Lisbon", march + timedelta(days=28)) == 1
    assert ahead("Asia/Kolkata", march) is None


def test_bars_stand_around_the_middle_of_their_names() -> None:
    """One of two that was alone stood as near to its neighbour's bar as to its own name."""
    shares = [("Same", RED, "", [0.5, None, 1.0], ["", "", ""])]
    shares.append(("Changed", GREEN, "/", [0.5, 1.0, None], ["", "", ""]))
    same, changed = share_bars(["a", "b", "c"], shares, height=1, room=1)["data"]
    half = same["width"] / 2
    assert (same["offset"][0], changed["offset"][0]) == (-2 * half, 0)
    assert (changed["offset"][1], same["offset"][2]) == (-half, -half)
