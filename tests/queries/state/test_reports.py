"""What several reports of one process say together (docs/rules.md#review-processes)."""

import pytest

from tests.queries.findings.builders import breach, found, risk
from tests.support.ledgers import World, asked
from tests.support.lines import acp, answered, at, digest, finished, started

WORLD = World()


def process(history, as_of):
    [row] = asked(history, "process_state", at(as_of))
    return row


@WORLD.given(
    acp("e2", "2026-03-05T12:00:00Z", status="OVERDUE", requested_fields=["address"]),
    acp("e1", occurred_at="2026-03-06T12:00:00Z"),
)
def test_the_latest_report_is_the_one_created_last_whenever_it_was_received(history):
    row = process(history, "2026-03-07T00:00:00")
    assert (row["reported_status"], row["reported_at"]) == ("OVERDUE", at("2026-03-05T12:00:00"))
    assert row["opened_at"] == at("2026-03-01T12:00:00")
    assert row["requested_fields"] == ["address"]


@WORLD.given(acp(status="OVERDUE"), acp("e2", "2026-03-02T12:00:00Z", status=None))
def test_a_latest_event_without_a_status_reports_none(history):
    row = process(history, "2026-03-03T00:00:00")
    assert (row["reported_status"], row["reported_at"]) == (None, at("2026-03-02T12:00:00"))
    assert row["state"] == "OVERDUE"  # what was reported before holds


@WORLD.given(
    acp(),
    acp("e2", "2026-03-02T12:00:00Z", "2026-03-03T12:00:00Z", requested_fields=["address"]),
    acp("e3", "2026-03-02T12:00:00Z", "2026-03-03T00:00:00Z", requested_fields=["revenue"]),
)
def test_of_events_created_at_once_the_one_received_last_is_the_latest(history):
    assert process(history, "2026-03-04T00:00:00")["requested_fields"] == ["address"]


# Not the one with the greater digest: of so many pairs some would be the other way round.
@pytest.mark.parametrize(
    "history",
    [
        WORLD.add(
            acp(),
            acp("e3", "2026-03-02T12:00:00Z", requested_fields=["address"], note=note),
            acp("e2", "2026-03-02T12:00:00Z", requested_fields=["revenue"]),
        )
        for note in range(6)
    ],
)
def test_of_events_created_and_received_at_once_the_one_with_the_greater_id_is_the_latest(history):
    assert process(history, "2026-03-04T00:00:00")["requested_fields"] == ["address"]


@WORLD.given(
    acp(),
    acp("e2", "2026-03-03T12:00:00Z", status="FINISHED"),
    acp("e3", "2026-03-02T12:00:00Z", "2026-03-07T12:00:00Z", status="FINISHED"),
)
def test_a_process_is_finished_by_the_report_of_it_that_was_created_first(history):
    assert process(history, "2026-03-07T00:00:00")["finished_at"] == at("2026-03-03T12:00:00")
    assert process(history, "2026-03-08T00:00:00")["finished_at"] == at("2026-03-02T12:00:00")


FINISHED = [acp(), acp("e2", "2026-03-03T12:00:00Z", status="FINISHED")]


@WORLD.given(
    unknown=[*FINISHED, acp("e3", "2026-03-04T12:00:00Z", status="SUSPENDED")],
    # At that very instant, and contradicted by something else.
    at_once=[
        *FINISHED,
        acp("e3", "2026-03-03T12:00:00Z", deadline_at="2026-05-30T12:00:00Z"),
    ],
    twice=[
        *FINISHED,
        acp("e3", "2026-03-03T18:00:00Z", status="PENDING"),
        acp("e4", "2026-03-02T18:00:00Z", status="PENDING"),
    ],
)
def test_an_open_status_after_the_finish_is_a_known_one_created_later(unknown, at_once, twice):
    for history in (unknown, at_once):
        assert process(history, "2026-03-05T00:00:00")["open_after_finish"] is False
        assert found("open_after_finish", history, "2026-03-05T00:00:00") == []
    assert process(twice, "2026-03-05T00:00:00")["open_after_finish"] is True
    assert found("open_after_finish", twice, "2026-03-05T00:00:00") == [
        risk(3, "2026-03-03T18:00:00")
    ]


@pytest.mark.parametrize(
    ("history", "status_disagrees"),
    [
        (WORLD.add(acp(), acp("e2", reported_at, status=status)), disagrees)
        for reported_at, status, disagrees in (
            ("2026-04-30T10:59:59.999999Z", "EXPIRED", True),
            ("2026-04-30T11:00:00Z", "EXPIRED", False),  # an hour later it is
            ("2026-04-30T12:59:59.999999Z", "OVERDUE", False),  # an hour before it was
            ("2026-04-30T13:00:00Z", "OVERDUE", True),
        )
    ],
)
def test_a_report_may_be_an_hour_off_the_deadline(history, status_disagrees):
    assert process(history, "2026-05-02T00:00:00")["status_disagrees"] is status_disagrees


@WORLD.given(
    acp(deadline_at=None), acp("e2", "2026-03-02T12:00:00Z"), acp("e3", "2026-03-03T12:00:00Z")
)
def test_that_it_expired_is_shown_by_the_first_event_that_carries_the_deadline(history):
    assert found("expired_unfinished", history, "2026-05-01T00:00:00") == [
        breach(2, "2026-04-30T12:00:00")
    ]


@WORLD.given(
    overdue=[
        acp(),
        acp("e2", "2026-03-10T00:00:00Z", status="OVERDUE"),
        acp("e3", "2026-03-12T00:00:00Z", status="OVERDUE"),
    ],
    expired=[
        acp(),
        acp("e2", "2026-04-01T00:00:00Z", status="EXPIRED"),
        acp("e3", "2026-04-05T00:00:00Z", status="EXPIRED"),
    ],
    after_the_clock=[
        acp(),
        acp("e2", "2026-04-10T00:00:00Z", status="OVERDUE"),
        acp("e3", "2026-05-10T00:00:00Z", status="EXPIRED"),
    ],
)
def test_findings_of_the_clock_date_from_the_first_report_or_from_the_clock_if_it_was_earlier(
    overdue, expired, after_the_clock
):
    assert found("overdue_unstarted", overdue, "2026-03-20T00:00:00") == [
        risk(2, "2026-03-11T00:00:00")
    ]
    assert found("expired_unfinished", expired, "2026-05-20T00:00:00") == [
        breach(2, "2026-04-01T00:00:00")
    ]
    assert found("overdue_unstarted", after_the_clock, "2026-04-20T00:00:00") == [
        risk(1, "2026-04-01T12:00:00")
    ]
    assert found("expired_unfinished", after_the_clock, "2026-05-20T00:00:00") == [
        breach(1, "2026-04-30T12:00:00")
    ]


LONG = "2026-06-30T12:00:00Z"


@WORLD.given(acp(deadline_at=LONG), acp("e2", "2026-03-05T12:00:00Z", deadline_at=LONG))
def test_a_deadline_that_is_not_the_contracts_is_shown_by_the_first_event_that_carries_it(history):
    assert found("deadline_mismatch", history, "2026-03-06T00:00:00") == [
        risk(1, "2026-03-01T12:00:00")
    ]


CORRECTED = {"process_id": "p1", "type": "individual", "revenue": "5000_to_9000"}
AT_ONCE = [
    *[started("a2", body=CORRECTED), finished("a2", 400)],
    *[started("a1"), finished("a1", 500, "2026-03-02T00:00:30Z")],
]


@WORLD.given(there=AT_ONCE, back=AT_ONCE[2:] + AT_ONCE[:2])
def test_of_attempts_that_started_at_once_the_one_with_the_greater_id_is_the_last(there, back):
    for history in (there, back):
        assert process(history, "2026-03-03T00:00:00")["last_outcome"] == "invalid_payload"


@pytest.mark.parametrize(
    "history",
    [
        WORLD.add(*(answered(seller_id=seller, journey_id=f"j_{seller}") for seller in order))
        for order in (("s1", "s2"), ("s2", "s1"))
    ],
)
def test_of_collections_at_one_instant_the_same_seller_counts_in_every_order(history):
    assert process(history, "2026-03-03T00:00:00")["seller_id"] == "s1"


@WORLD.given(
    without_event=[started(seller_id="s2"), answered()],
    without_seller=[acp(customer_id=None), started(seller_id="s2"), answered()],
)
def test_the_seller_is_the_events_else_the_attempts_else_the_collections(
    without_event, without_seller
):
    """An event that names none leaves it open: nobody else is taken for the one under review."""
    assert process(without_event, "2026-03-03T00:00:00")["seller_id"] == "s2"
    assert process(without_seller, "2026-03-03T00:00:00")["seller_id"] is None


# --- what digests decide: in a ledger of its own, since ids are part of what is digested ---


def test_a_report_without_a_deadline_counts_for_the_version_that_its_digest_puts_before_it():
    """One version carries another deadline than before, one carries none and reports EXPIRED. Which
    of them is the later one decides for which deadline it reports; the other's is the current one.
    """
    versions_of = {
        f"p{n}": [
            acp(f"e{n}", "2026-03-05T12:00:00Z", process_id=f"p{n}", **part)
            for part in (
                {"deadline_at": "2026-05-30T12:00:00Z"},
                {"deadline_at": None, "status": "EXPIRED"},
            )
        ]
        for n in range(1, 9)
    }

    expected = {
        process_id: "EXPIRED" if digest(undated) > digest(dated) else "PENDING"
        for process_id, (dated, undated) in versions_of.items()
    }
    openings = [acp(f"o{n}", process_id=f"p{n}") for n in range(1, 9)]
    history = openings + [line for versions in versions_of.values() for line in versions]
    states = asked(history, "process_state", at("2026-03-06T00:00:00"))
    assert {row["process_id"]: row["state"] for row in states} == expected
    assert len({*expected.values()}) == 2
