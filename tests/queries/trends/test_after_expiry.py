"""What the log shows of sellers after a deadline that came while the review was unfinished."""

from datetime import date

from tests.support.ledgers import asked
from tests.support.lines import ACI_DEADLINE, aci, at, finished, seller, started


def due(number, *more, deadline_at=ACI_DEADLINE, process_id=None):
    """An ACI of a seller of its own, due at noon on 31 March 2026."""
    name = process_id or f"p{number}"
    event = {"process_id": name, "customer_id": f"s{number}", "deadline_at": deadline_at}
    return [aci(f"e-{name}", **event), *more]


def accepted(process_id, instant):
    of = {"process_id": process_id}
    return [
        started(f"a-{process_id}", instant, **of),
        finished(f"a-{process_id}", 200, instant, **of),
    ]


def disabled(number, instant):
    return seller("disabled", f"x{number}{instant}", instant, f"s{number}")


def spans(history, as_of):
    rows = asked(history, "after_expiry", at(as_of))
    return [(row["days"], row["sellers"], row["disabled"], row["finished_late"]) for row in rows]


HISTORY = [
    *due(1, disabled(1, ACI_DEADLINE)),  # at the deadline itself
    *due(2, disabled(2, "2026-04-30T12:00:00Z")),  # on the last instant of 30 days
    *due(3, disabled(3, "2026-04-30T12:00:00.000001Z")),
    *due(4, disabled(4, "2026-03-31T11:59:59.999999Z")),  # before
    *due(5, *accepted("p5", "2026-04-30T12:00:00Z"), disabled(5, "2026-05-01T00:00:00Z")),
    *due(6, *accepted("p6", "2026-03-31T11:59:59.999999Z")),  # in time: its seller counts nowhere
    *due(7, disabled(7, "2026-05-15T00:00:00Z")),
    # Of two deadlines that passed the first counts.
    *due(7, deadline_at="2026-05-10T00:00:00Z", process_id="later"),
]


def test_sellers_count_once_their_days_are_over():
    assert spans(HISTORY, "2026-04-30T11:59:59.999999") == []
    assert spans(HISTORY, "2026-04-30T12:00:00") == [(30, 6, 2, 1)]
    assert spans(HISTORY, "2026-05-30T12:00:00") == [(30, 6, 2, 1), (60, 6, 4, 1)]
    assert [row[0] for row in spans(HISTORY, "2026-06-29T12:00:00")] == [30, 60, 90]


def test_on_time_and_steps_are_counted_by_the_type_of_seller():
    march = date(2026, 3, 1)
    history = [
        *due(
            1, *accepted("p1", "2026-03-10T12:00:00Z"), seller("created", "c1", type="individual")
        ),
        *due(2, seller("created", "c2", seller_id="s2", type="individual")),
        seller("updated", "u2", "2026-03-02T00:00:00Z", "s2", type="business"),
        *due(3, seller("created", "c3", seller_id="s3", type=None)),
        *due(4),
    ]
    found = asked(history, "on_time_by_seller_type", at("2026-04-10T00:00:00"))
    assert [tuple(row.values()) for row in found] == [
        (march, "business", 1, 0, 0, 1, 0, 1, 0.0),
        (march, "individual", 1, 1, 0, 0, 0, 1, 1.0),
        (march, None, 2, 0, 0, 2, 0, 2, 0.0),
    ]
    steps = asked(history, "phases_by_seller_type", at("2026-04-10T00:00:00"))
    assert [tuple(row.values()) for row in steps] == [
        (march, "individual", "finished", 1, 9 * 86400.0, 9 * 86400.0),
        (march, "individual", "sent", 1, 9 * 86400.0, 9 * 86400.0),
    ]
