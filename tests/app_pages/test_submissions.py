"""The submissions page tells how attempts ended, and each of them."""

from tests.app_pages.conftest import OpenLog, Visit
from tests.app_pages.support.occurrences import attempt, before, review
from tests.app_pages.support.reading import chart, links, metrics, page_text

# Three processes: one accepted at once, one after a failure, one that failed for good.
HISTORY = [
    *(review(f"prc_{n}", before(days=10)) for n in (1, 2, 3)),
    *attempt("prc_1", before(days=9), status=200),
    *attempt("prc_2", before(days=8), status=500),
    *attempt("prc_2", before(days=8, minutes=-5), status=200),
    *attempt("prc_3", before(days=7), status=400),
]


def test_the_figures_are_those_of_the_rules(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        shown = metrics(visit("submissions"))
    assert shown["Accepted first time"][0] == "33.3 %"
    assert shown["Recovered by a retry"][0] == "50.0 %"
    assert shown["Waiting for a retry"][0] == "0"
    assert shown["Given up"] == ("0", "none")


def test_outcomes_are_shares_of_the_attempts_at_each_place(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        figure = chart(visit("submissions"))
    shares = {
        trace["name"]: dict(zip(trace["y"], trace["x"], strict=True)) for trace in figure["data"]
    }
    third = 1 / 3
    assert shares == {
        "Accepted": {"attempt 1": third, "attempt 2": 1.0},
        "Platform error": {"attempt 1": third},
        "Payload refused": {"attempt 1": third},
    }


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


def test_an_attempt_leads_to_its_process_and_its_seller(open_log: OpenLog, visit: Visit) -> None:
    with open_log(HISTORY):
        app = visit("submissions", outcome="platform_error")
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


def test_what_needs_a_person_is_listed_with_the_reason(open_log: OpenLog, visit: Visit) -> None:
    """prc_3 was refused with 400; its deadline is 30 days after its request."""
    with open_log(HISTORY):
        app = visit("submissions")
    shown = page_text(app)
    assert "Correct the payload" in shown
    assert "The platform found the payload invalid (400). Correct it and send it again." in shown
    assert "Payload refused 20 days left" in shown
    assert links(app)[0] == ("prc_3", "process=prc_3")
    assert "In the last 30 days 4 attempts were sent, 2 accepted." in page_text(app)
