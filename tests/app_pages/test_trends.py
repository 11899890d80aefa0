"""The trends page: in time or late, an unfinished month, load, and what to expect."""

import pytest

from app_pages.charts.trends import calibration
from app_pages.door import access
from pipeline.serve.roles import Person, Role
from pipeline.trends.forecast_score import Band, Score
from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import attempt, before, review, seller_event, text
from tests.app_pages.support.reading import chart, links, page_text, plain

# As of 1 June 2026 at noon: of two due in May one was finished in time, and so was the one that was
# due this morning. Each has 30 days.
HISTORY = [
    review("prc_1", before(days=55)),
    *attempt("prc_1", before(days=40), status=200),
    review("prc_2", before(days=50)),
    review("prc_3", before(days=30, hours=5)),
    *attempt("prc_3", before(days=5), status=200),
    review("prc_4", before(days=10)),
]


def test_whole_months_have_a_share_and_the_one_that_is_not_over_says_what_was_due_so_far(
    drawn: Visit,
) -> None:
    app = drawn("trends")
    assert not app.error
    assert "ACI: 50.0% of 2 in time." in page_text(app)
    months = chart(app)
    assert months["data"][0]["y"] == [0.5]
    assert [note["text"] for note in months["layout"]["annotations"]] == [
        "ACI: 1 in time, of 1 due so far"
    ]


def test_the_title_is_about_all_and_the_sentence_about_all_and_then_each_kind(
    open_log: OpenLog, visit: Visit
) -> None:
    """Of two ACIs one was in time, of one ACP none. By the ACP alone, of which there were more and
    none the month before, it hid that fewer were in time than before."""
    history = [*HISTORY, review("prc_5", before(days=65), kind="ACP")]
    with open_log(history):
        app = visit("trends")
    shown = page_text(app)
    # The name of the lower line stood above that of the higher one.
    named = [(it["name"], it["y"], it["textposition"]) for it in chart(app)["data"]]
    assert named == [("ACI", [0.5], "top right"), ("ACP", [0.0], "bottom right")]
    # On the last days of a month it was about the month before alone.
    assert "33.3% in time in May 2026; in Jun 2026: 1 in time, of 1 due so far" in shown
    assert "All: 33.3% of 3 in time. ACI: 50.0% of 2 in time." in shown
    assert "ACP: 0.0% of 1 in time." in shown


def test_it_says_why_nothing_is_forecast_and_who_has_how_much(drawn: Visit) -> None:
    app = drawn("trends")
    shown = page_text(app)
    assert "nothing can be said, for lack of comparable ones in the year before" in shown
    assert "Not counted, for lack of comparable reviews in the year before: 1." in shown
    title = "Most unfinished reviews: Unassigned, 2; the oldest: prc_2, since 12 Apr"
    assert title in shown
    # Three screens down, it is named and led to at the top.
    assert f"[{title}](#backlog_by_person)" in [plain(it.value) for it in app.markdown]
    # Opened 50 and 10 days before 1 June; the first of them has expired.
    assert "Unassigned: 2, 1 of them EXPIRED." in shown
    assert "The oldest, opened on 12 Apr 2026, is unassigned." in shown
    named = [label for label, _query in links(app)]
    assert "Open the oldest: prc_" in [label[:21] for label in named]
    assert any(label.startswith("sel_") for label in named), "only an id of the process said whose"


def assigned(process: str, assignee: str) -> dict[str, str]:
    return {
        "kind": "assignment",
        "occurred_at": text(before(days=1)),
        "process_id": process,
        "seller_id": "sel_ana",
        "assignee": assignee,
        "actor": assignee,
    }


def test_who_has_most_is_led_to_with_what_is_theirs(open_log: OpenLog, visit: Visit) -> None:
    with open_log([*HISTORY, assigned("prc_4", "Bia")]):
        app = visit("trends")
    assert "Bia has the most: 1; EXPIRED among them: 0." in page_text(app)
    assert ("View the reviews of Bia", "queue=all&assignee=Bia") in links(app)


def test_who_has_most_is_not_led_to_where_the_name_is_a_part_of_another(
    open_log: OpenLog, visit: Visit
) -> None:
    """The list takes a part of a name: Bianca's came along, and it showed more than was said."""
    with open_log([*HISTORY, assigned("prc_4", "Bia"), assigned("prc_2", "BÍANCA")]):
        app = visit("trends")
    assert "Bia has the most: 1; EXPIRED among them: 0." in page_text(app)
    assert not [label for label, _query in links(app) if label.startswith("View the reviews of")]


def test_on_time_is_cut_by_the_type_of_seller_too_with_a_line_at_the_target(
    open_log: OpenLog, visit: Visit
) -> None:
    history = [*HISTORY, seller_event("sel_ana", "created", before(days=60))]
    with open_log(history, on_time_target=0.9):
        app = visit("trends", per="seller_type")
    assert "individual: 50.0% of 2 in time." in page_text(app)
    layout = chart(app)["layout"]
    assert [line["y0"] for line in layout["shapes"]] == [0.9]
    assert layout["annotations"][-1]["text"] == "target: 90.0%"


def test_on_time_is_cut_by_person_for_those_who_may_read_who_had_what(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_log(HISTORY):
        shown = page_text(visit("trends", per="person"))
        assert "Unassigned: 50.0% of 2 in time." in shown
        monkeypatch.setattr(access, "person", lambda: Person("bia", frozenset({Role.ANALYST})))
        shown = page_text(visit("trends", per="person"))
    assert "ACI: 50.0% of 2 in time." in shown
    assert "Unassigned" not in shown


def test_it_says_what_followed_a_missed_deadline(open_log: OpenLog, visit: Visit) -> None:
    """Forty days after it; the seller was disabled on the fifth."""
    history = [
        review("prc_1", before(days=70)),
        seller_event("sel_ana", "disabled", before(days=35)),
        review("prc_2", before(days=62), seller="sel_bia"),
    ]
    with open_log(history):
        app = visit("trends")
    assert "50.0% disabled within 30 days of a missed deadline (1 of 2)" in page_text(app)
    assert [list(row) for row in app.table[-1].value.to_numpy()] == [
        ["30 days", "2", "50.0% (1)", "0.0% (0)"]
    ]


def test_a_single_review_is_counted_in_whole_numbers_and_leaves_no_box_empty(
    open_log: OpenLog, visit: Visit
) -> None:
    """Its axes had 0, 0, 0, 1, 1, 1, and its only week was a line without a length."""
    with open_log([review("prc_1", before(days=20))]):
        app = visit("trends")
        at_work = chart(visit(), 0)["layout"]
    assert "No review has been finished yet." in page_text(app)
    flow, backlog = (chart(app, number) for number in (0, 1))
    assert "markers" in flow["data"][0]["mode"]
    axes = (flow["layout"]["yaxis"], backlog["layout"]["xaxis"], at_work["yaxis"])
    assert [axis["dtick"] for axis in axes] == [1, 1, 1]


def test_more_finished_than_opened_is_a_backlog_that_shrinks(
    open_log: OpenLog, visit: Visit
) -> None:
    """As of Monday, 1 June: two were opened in the week of 13 April, and one of them was finished
    in that of 25 May."""
    history = [
        review("prc_1", before(days=46)),
        review("prc_2", before(days=45)),
        *attempt("prc_1", before(days=3), status=200),
    ]
    with open_log(history):
        shown = page_text(visit("trends"))
    assert "The backlog shrinks: 1 unfinished at the end of last week, 2 four weeks before" in shown
    assert "In the week of 25 May, 0 were opened and 1 finished; 1 were unfinished" in shown


def test_the_forecast_says_the_sum_of_eight_weeks_and_the_week_with_most(
    open_log: OpenLog, visit: Visit
) -> None:
    """Of fifty none was finished: each of three that are open is expected to expire, one of them in
    20 days and two in 25. Wilson's interval of none of 50 ends at 0.032."""
    history = [
        *(review(f"prc_{n}", before(days=60)) for n in range(50)),
        review("prc_a", before(days=10)),
        *(review(f"prc_{n}", before(days=5)) for n in "bc"),
    ]
    with open_log(history):
        app = visit("trends")
    shown = page_text(app)
    assert "Expected to expire in the next 8 weeks: 3 (between 2 and 3)" in shown
    assert (
        "Of 3 reviews open now and due in the next 8 weeks 3 are expected to expire; four times in"
        " five it is between 2 and 3. Most in the week up to 29 Jun: 2 (between 1 and 2). Reviews"
        " that are still to be opened are not counted."
    ) in shown


def test_the_time_of_each_step_is_shown_by_person_to_those_who_may_read_who_had_what(
    open_log: OpenLog, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One was finished in May, after 25 days."""
    with open_log(HISTORY):
        app = visit("trends", steps="person")
        shown = page_text(app)
        monkeypatch.setattr(access, "person", lambda: Person("bia", frozenset({Role.ANALYST})))
        of_analyst = page_text(visit("trends", steps="person"))
    assert "Unassigned: half finished within 25 days" in shown
    assert "Finished in May 2026: 1. Half of them took at most 25 days from their opening" in shown
    assert "ACI: half finished within 25 days" in of_analyst


def test_points_of_the_score_say_how_many_expired_of_how_many() -> None:
    """They said how many were in time, beside a sentence about those that expired. Of four with a
    chance of 0.75 to be in time one expired, of two with 0.1 both, of five with 0.25 three."""
    bands = (
        Band(0.1, 2, 0.1, 0.0),
        Band(0.5, 0, None, None),
        Band(0.7, 4, 0.75, 0.75),
        Band(0.2, 5, 0.25, 0.4),
    )
    made_at = before(days=30).replace(tzinfo=None)
    _line, points = calibration(Score(30, made_at, 6, 0.1, bands))["data"]
    assert points["x"] == pytest.approx([0.9, 0.25, 0.75])
    assert points["y"] == [1.0, 0.25, 0.6]
    assert points["text"] == ["n = 2", "n = 4", "n = 5"]
    assert points["textposition"] == ["top left", "top left", "bottom right"]
