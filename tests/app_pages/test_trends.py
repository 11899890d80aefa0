"""The trends page: in time or late, an unfinished month, load, and what to expect."""

from tests.app_pages.conftest import Visit
from tests.app_pages.support.occurrences import attempt, before, review
from tests.app_pages.support.reading import chart, page_text

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
    assert [note["text"] for note in months["layout"]["annotations"]] == ["ACI: 1 of 1 due so far"]


def test_it_says_why_nothing_is_forecast_and_who_has_how_much(drawn: Visit) -> None:
    shown = page_text(drawn("trends"))
    assert "nothing can be said: fewer than 50 of their type ended" in shown
    assert "Most unfinished reviews: Unassigned, 2" in shown
