"""The figures at the head of the overview: by hand from the header of `overview_figures`."""

from tests.support.ledgers import asked
from tests.support.lines import aci, at


def test_the_next_deadline_is_of_a_review_that_is_open() -> None:
    """It was that of a review finished long before, beside a list that began two hours later."""
    history = [
        aci("e1", process_id="p1"),
        aci("e2", "2026-03-05T12:00:00Z", process_id="p1", status="FINISHED"),
    ]
    [figures] = asked(history, "overview_figures", at("2026-03-10T00:00:00"))
    assert figures["next_deadline_at"] is None
    later = aci("e3", process_id="p2", deadline_at="2026-04-02T09:00:00Z")
    [figures] = asked([*history, later], "overview_figures", at("2026-03-10T00:00:00"))
    assert figures["next_deadline_at"] == at("2026-04-02T09:00:00")
