"""The clocks of review processes, to the microsecond (docs/rules.md#review-processes)."""

import pytest

from tests.support.ledgers import History, World, asked
from tests.support.lines import (
    ACP_DEADLINE,
    aci,
    acp,
    at,
    digest,
    finished,
    started,
)

WORLD = World()


def process(history, as_of):
    [row] = asked(history, "process_state", at(as_of))
    return row


pending, inconsistent = WORLD.add(acp()), WORLD.add(aci())


@pytest.mark.parametrize(
    ("as_of", "state", "days_to_deadline", "days_to_overdue"),
    [
        ("2026-03-01T12:00:00", "PENDING", 60, 30),
        ("2026-03-01T12:00:00.000001", "PENDING", 59, 29),
        ("2026-03-31T11:59:59.999999", "PENDING", 30, 0),
        ("2026-03-31T12:00:00", "OVERDUE", 30, None),
        ("2026-04-29T12:00:00", "OVERDUE", 1, None),
        ("2026-04-29T12:00:00.000001", "OVERDUE", 0, None),
        ("2026-04-30T11:59:59.999999", "OVERDUE", 0, None),
        ("2026-04-30T12:00:00", "EXPIRED", 0, None),
        ("2026-04-30T12:00:00.000001", "EXPIRED", -1, None),
        ("2026-05-01T12:00:00", "EXPIRED", -1, None),
        ("2026-05-01T12:00:00.000001", "EXPIRED", -2, None),
    ],
)
def test_an_acp_is_pending_then_overdue_then_expired(
    as_of, state, days_to_deadline, days_to_overdue
):
    row = process(pending, as_of)
    assert (row["state"], row["days_to_deadline"], row["days_to_overdue"]) == (
        state,
        days_to_deadline,
        days_to_overdue,
    )


@pytest.mark.parametrize(
    ("as_of", "state"),
    [
        ("2026-03-01T12:00:00", "OVERDUE"),
        ("2026-03-31T11:59:59.999999", "OVERDUE"),
        ("2026-03-31T12:00:00", "EXPIRED"),
    ],
)
def test_an_aci_is_overdue_from_the_start(as_of, state):
    row = process(inconsistent, as_of)
    assert (row["review_type"], row["state"]) == ("ACI", state)
    assert row["overdue_at"] == at("2026-03-01T12:00:00")
    assert row["days_to_overdue"] is None


@WORLD.given(
    acp(type="SOMETHING_NEW"),
    in_total=[acp(type="SOMETHING_NEW", deadline_at="2026-03-31T12:00:00Z")],
)
def test_an_unknown_review_type_has_the_clock_and_the_total_of_an_aci(history, in_total):
    row = process(history, "2026-03-01T12:00:00")
    assert (row["review_type"], row["state"], row["deadline_mismatch"]) == (None, "OVERDUE", True)
    assert process(in_total, "2026-03-01T12:00:00")["deadline_mismatch"] is False


@WORLD.given(acp(occurred_at="2026-03-01T13:00:00Z"))
def test_nothing_is_known_before_the_event_was_received(history):
    assert asked(history, "process_state", at("2026-03-01T12:59:59.999999")) == []
    assert len(asked(history, "process_state", at("2026-03-01T13:00:00"))) == 1


@WORLD.given(
    acp(),
    acp("e2", "2026-03-05T12:00:00Z", status="OVERDUE"),
    acp("e3", "2026-03-06T12:00:00Z", status="PENDING"),
)
def test_a_graver_report_holds_and_a_later_milder_one_takes_nothing_back(history):
    row = process(history, "2026-03-07T12:00:00")
    assert (row["state"], row["reported_status"]) == ("OVERDUE", "PENDING")


@WORLD.given(
    acp(),
    acp("e2", "2026-03-05T12:00:00Z", status="EXPIRED"),
    acp("e3", "2026-03-06T12:00:00Z", deadline_at="2026-06-30T12:00:00Z"),
)
def test_an_extended_deadline_starts_afresh(history):
    assert process(history, "2026-03-05T12:00:00")["state"] == "EXPIRED"
    row = process(history, "2026-03-06T12:00:00")
    assert (row["state"], row["deadline_changed"]) == ("PENDING", True)
    assert row["overdue_at"] == at("2026-03-31T12:00:00")  # day 30, however late the deadline


def ended_at(finished_at):
    return WORLD.add(acp(), started("a1", "2026-04-30T11:59:00Z"), finished("a1", 200, finished_at))


@pytest.mark.parametrize(
    ("history", "finished_late"),
    [
        (ended_at("2026-04-30T11:59:59.999999Z"), False),
        (ended_at("2026-04-30T12:00:00Z"), True),
    ],
)
def test_a_finish_at_the_deadline_is_late(history, finished_late):
    row = process(history, "2026-05-02T00:00:00")
    assert (row["state"], row["finished_by"]) == ("FINISHED", "submission")
    assert row["finished_late"] is finished_late
    assert row["days_to_deadline"] is None


def accepted_and_reported_at(reported_at):
    return WORLD.add(acp(), started(), finished(), acp("e2", reported_at, status="FINISHED"))


@pytest.mark.parametrize(
    ("history", "finished_by"),
    [
        (accepted_and_reported_at("2026-03-02T00:00:00.999999Z"), "platform"),
        (accepted_and_reported_at("2026-03-02T00:00:01Z"), "submission"),
        (accepted_and_reported_at("2026-03-02T00:00:01.000001Z"), "submission"),
    ],
)
def test_the_earlier_finish_counts_and_a_tie_goes_to_the_submission(history, finished_by):
    assert process(history, "2026-03-03T00:00:00")["finished_by"] == finished_by


@WORLD.given(
    acp(),
    started("a1", "2026-03-02T00:00:00Z"),
    started("a2", "2026-03-02T00:00:10Z"),
    finished("a2", 200, "2026-03-02T00:00:11Z"),
    finished("a1", 200, "2026-03-02T00:00:30Z"),
)
def test_a_finish_is_the_earliest_end_of_any_attempt_answered_200(history):
    assert process(history, "2026-03-03T00:00:00")["finished_at"] == at("2026-03-02T00:00:11")


@pytest.mark.parametrize(
    ("history", "deadline_mismatch"),
    [
        (WORLD.add(acp(deadline_at="2026-05-01T12:00:00Z")), False),
        (WORLD.add(acp(deadline_at="2026-05-01T12:00:00.000001Z")), True),
        (WORLD.add(acp(deadline_at="2026-04-29T12:00:00Z")), False),
        (WORLD.add(acp(deadline_at="2026-04-29T11:59:59.999999Z")), True),
        (WORLD.add(aci()), False),
        (WORLD.add(aci(deadline_at=ACP_DEADLINE)), True),
    ],
)
def test_a_deadline_may_be_a_day_off_sixty_days_or_thirty(history, deadline_mismatch):
    row = process(history, "2026-03-02T00:00:00")
    assert row["deadline_mismatch"] is deadline_mismatch


def reported(reported_at, status):
    return WORLD.add(acp(), acp("e2", reported_at, status=status))


@pytest.mark.parametrize(
    ("history", "status_disagrees"),
    [
        (reported("2026-03-31T11:00:00Z", "OVERDUE"), False),  # an hour later the clock says so
        (reported("2026-03-31T10:59:59.999999Z", "OVERDUE"), True),
        (reported("2026-03-31T12:59:59.999999Z", "PENDING"), False),  # an hour before it said so
        (reported("2026-03-31T13:00:00Z", "PENDING"), True),
        (reported("2026-03-10T12:00:00Z", "SUSPENDED"), False),
        (reported("2026-03-10T12:00:00Z", "FINISHED"), False),
    ],
)
def test_a_report_may_be_an_hour_off_the_clock(history, status_disagrees):
    assert process(history, "2026-04-01T00:00:00")["status_disagrees"] is status_disagrees


# --- versions of an event ---


@WORLD.given(acp(), acp(process_id="p2", customer_id="s2", occurred_at="2026-03-02T12:00:00Z"))
def test_a_process_under_an_event_id_that_was_used_before_exists(history):
    found = asked(history, "process_state", at("2026-03-03T00:00:00"))
    assert [(it["process_id"], it["seller_id"]) for it in found] == [("p1", "s1"), ("p2", "s2")]


@WORLD.given(acp(), acp(status="FINISHED", occurred_at="2026-04-01T00:00:00Z"))
def test_a_finish_in_an_altered_redelivery_counts(history):
    row = process(history, "2026-05-30T00:00:00")
    assert (row["state"], row["finished_at"]) == ("FINISHED", at("2026-03-01T12:00:00"))
    assert process(history, "2026-03-31T23:59:59.999999")["state"] == "OVERDUE"


@WORLD.given(
    acp(occurred_at="2026-03-03T00:00:00Z", requested_fields=["address"]),
    acp(occurred_at="2026-03-02T00:00:00Z"),
)
def test_the_latest_of_two_versions_of_one_instant_is_that_of_the_later_receipt(history):
    row = process(history, "2026-03-04T00:00:00")
    assert row["requested_fields"] == ["address"]
    assert process(history, "2026-03-02T12:00:00")["requested_fields"] == ["revenue"]


# --- what an event does not carry ---


@pytest.mark.parametrize(
    ("history", "inconsistent"),
    [
        (WORLD.add(acp(deadline_at=unreadable)), WORLD.add(aci(deadline_at=unreadable)))
        for unreadable in (None, "2026-04-30", 1_777_550_400, {"at": "noon"})
    ],
)
def test_without_a_readable_deadline_the_contracts_total_counts(history, inconsistent):
    row = process(history, "2026-03-31T12:00:00")
    assert row["deadline_at"] == at("2026-04-30T12:00:00")
    assert row["overdue_at"] == at("2026-03-31T12:00:00")
    assert (row["state"], row["deadline_mismatch"]) == ("OVERDUE", False)
    row = process(inconsistent, "2026-03-31T12:00:00")
    assert (row["deadline_at"], row["state"]) == (at("2026-03-31T12:00:00"), "EXPIRED")


@WORLD.given(
    acp(),
    acp("e2", "2026-03-05T12:00:00Z", deadline_at="2026-05-10T12:00:00Z"),
    acp("e3", "2026-03-06T12:00:00Z", deadline_at=None),
    carried_once=[acp(), acp("e3", "2026-03-06T12:00:00Z", deadline_at=None)],
)
def test_the_deadline_is_that_of_the_latest_event_that_carries_one(history, carried_once):
    row = process(history, "2026-03-07T00:00:00")
    assert (row["deadline_at"], row["deadline_changed"]) == (at("2026-05-10T12:00:00"), True)
    assert process(carried_once, "2026-03-07T00:00:00")["deadline_changed"] is False


EXPIRED = acp("e2", "2026-03-05T12:00:00Z", status="EXPIRED", deadline_at=None)
EXTENDED = acp("e3", "2026-03-06T12:00:00Z", deadline_at="2026-05-30T12:00:00Z")
LATE = acp("e4", "2026-03-07T12:00:00Z", status="EXPIRED", deadline_at="soon")


@WORLD.given(
    expired=[acp(), EXPIRED],
    extended=[acp(), EXPIRED, EXTENDED],
    late=[acp(), EXPIRED, EXTENDED, LATE],
)
def test_a_report_without_a_deadline_counts_for_that_of_the_latest_event_before_it(
    expired, extended, late
):
    assert process(expired, "2026-03-07T00:00:00")["state"] == "EXPIRED"
    assert process(extended, "2026-03-07T00:00:00")["state"] == "PENDING"
    assert process(late, "2026-03-08T00:00:00")["state"] == "EXPIRED"


@WORLD.given(acp(status="OVERDUE", deadline_at=None), acp("e2", "2026-03-02T12:00:00Z"))
def test_a_report_before_any_deadline_counts_for_the_current_one(history):
    assert process(history, "2026-03-03T00:00:00")["state"] == "OVERDUE"


READABLE = acp("e2", "2026-03-05T12:00:00Z", requested_fields=["address"])
UNREADABLE = acp("e3", "2026-03-06T12:00:00Z", requested_fields=["revenue", 7])
EMPTIED = acp("e4", "2026-03-06T13:00:00Z", requested_fields=[])


@WORLD.given(
    acp(), READABLE, UNREADABLE, alone=[UNREADABLE], emptied=[acp(), READABLE, UNREADABLE, EMPTIED]
)
def test_requested_fields_are_those_of_the_latest_readable_list(history, alone, emptied):
    assert process(history, "2026-03-07T00:00:00")["requested_fields"] == ["address"]
    assert process(alone, "2026-03-07T00:00:00")["requested_fields"] == []
    assert process(emptied, "2026-03-07T00:00:00")["requested_fields"] == []


@WORLD.given(acp(type=None, customer_id=None), acp("e2", "2026-03-02T12:00:00Z"))
def test_type_and_seller_are_those_of_the_earliest_event_alone(history):
    row = process(history, "2026-03-03T00:00:00")
    assert (row["review_type"], row["seller_id"], row["state"]) == (None, None, "OVERDUE")
    assert row["identity_changed"] is False


# --- overdue, and time left ---


@pytest.mark.parametrize(
    ("history", "overdue_at"),
    [
        (WORLD.add(acp(deadline_at="2026-04-30T12:00:00Z")), "2026-03-31T12:00:00"),
        (WORLD.add(acp(deadline_at="2026-04-30T11:59:59.999999Z")), "2026-03-31T11:59:59.999999"),
        (WORLD.add(acp(deadline_at="2026-04-30T12:00:00.000001Z")), "2026-03-31T12:00:00"),
        (WORLD.add(acp(deadline_at="2026-03-31T12:00:00Z")), "2026-03-01T12:00:00"),
        # Never before it opened.
        (WORLD.add(acp(deadline_at="2026-03-15T12:00:00Z")), "2026-03-01T12:00:00"),
        (WORLD.add(acp(deadline_at="2026-02-01T12:00:00Z")), "2026-03-01T12:00:00"),
    ],
)
def test_an_acp_is_overdue_on_day_30_or_30_days_before_the_deadline(history, overdue_at):
    row = process(history, "2026-03-01T12:00:00")
    assert row["overdue_at"] == at(overdue_at)


@pytest.mark.parametrize(
    ("as_of", "seconds"),
    [
        ("2026-04-30T11:59:58", 2),
        ("2026-04-30T11:59:58.000001", 1),
        ("2026-04-30T11:59:59.000001", 0),
        ("2026-04-30T12:00:00", 0),
        ("2026-04-30T12:00:00.000001", -1),
        ("2026-04-30T12:04:00", -240),
    ],
)
def test_seconds_to_the_deadline_are_rounded_down(as_of, seconds):
    row = process(pending, as_of)
    assert row["seconds_to_deadline"] == seconds
    assert (row["state"] == "EXPIRED") == (as_of >= "2026-04-30T12:00:00")


@WORLD.given(acp(status="FINISHED"))
def test_a_finished_process_has_no_seconds_left(history):
    assert process(history, "2026-03-02T00:00:00")["seconds_to_deadline"] is None


# --- what digests decide: in ledgers of their own, since ids are part of what is digested ---


def test_of_two_versions_of_one_instant_and_receipt_the_digest_decides_in_either_order():
    one, other = acp(customer_id="s2"), acp(customer_id="s3")
    there = process([one, other], "2026-03-02T00:00:00")
    back = process([other, one], "2026-03-02T00:00:00")
    assert there == back
    assert there["identity_changed"] is True


def test_of_versions_of_one_instant_the_greater_digest_of_canonical_json_is_the_latest():
    """Encoders differ in how they write such a number, and so in which deadline would count."""
    versions_of = {
        f"p{n}": [
            acp(f"e{n}", process_id=f"p{n}", deadline_at=f"2026-0{month}-10T12:00:00Z", score=score)
            for month in (4, 5)
        ]
        for n, score in enumerate([n * 1e-6 for n in range(1, 9)])
    }

    latest = {
        process_id: max(versions, key=digest)["body"]["payload"]["object"]["deadline_at"]
        for process_id, versions in versions_of.items()
    }
    history = [line for versions in versions_of.values() for line in versions]
    found = asked(history, "process_state", at("2026-03-02T00:00"))
    assert {it["process_id"]: it["deadline_at"].isoformat() + "Z" for it in found} == latest
    assert len(set(latest.values())) == 2


LATER = "2026-05-30T12:00:00Z"
FIVE_DAYS_LATE = "2026-05-05T12:00:00Z"


AT_THE_END = [
    # The report of the end itself, which says a later deadline.
    (FIVE_DAYS_LATE, "FINISHED", ACP_DEADLINE, True),
    # It comes the next day, or reports something else then.
    ("2026-05-06T12:00:00Z", "FINISHED", ACP_DEADLINE, True),
    ("2026-05-05T12:00:00.000001Z", "OVERDUE", ACP_DEADLINE, True),
    # What was put off before the end, or at that instant by another report, was put off.
    ("2026-05-05T11:59:59.999999Z", "OVERDUE", LATER, False),
    (FIVE_DAYS_LATE, "OVERDUE", LATER, False),
    (FIVE_DAYS_LATE, None, LATER, False),
]
"""When a report was created, what it says, which deadline holds then, and whether it was missed."""


def both_ways(created_at: str, status: str | None) -> tuple[History, History]:
    """A review that was answered five days late, and such a report, in either order."""
    news = acp("e2", created_at, status=status, deadline_at=LATER)
    answer = [started(occurred_at="2026-05-05T11:59:00Z"), finished(occurred_at=FIVE_DAYS_LATE)]
    return WORLD.add(acp(), *answer, news), WORLD.add(news, *reversed(answer), acp())


@pytest.mark.parametrize(
    ("histories", "deadline_at", "is_late"),
    [(both_ways(*it), deadline, is_late) for *it, deadline, is_late in AT_THE_END],
)
def test_what_comes_with_or_after_the_end_moves_no_deadline(histories, deadline_at, is_late):
    """A review was answered five days late. The platform's report of the end said a later deadline,
    and the breach `finished_late` was gone."""
    for history in histories:
        row = process(history, "2026-06-30T12:00:00")
        assert (row["state"], row["finished_by"]) == ("FINISHED", "submission")
        assert row["deadline_at"] == at(deadline_at.removesuffix("Z"))
        assert (row["finished_late"], row["deadline_changed"]) == (is_late, True)
        rules = [it["rule"] for it in asked(history, "findings", at("2026-06-30T12:00:00"))]
        assert ("finished_late" in rules) is is_late


@pytest.mark.parametrize("status", ["FINISHED", "OVERDUE"])
def test_a_report_of_the_end_alone_moves_no_deadline_whoever_was_first(status):
    """By the platform's report alone, and the one after it, which reports whatever."""
    end = acp("e2", FIVE_DAYS_LATE, status="FINISHED", deadline_at=LATER)
    after = acp("e3", "2026-05-06T12:00:00Z", status=status, deadline_at="2026-07-30T12:00:00Z")
    row = process([acp(), end, after], "2026-06-30T12:00:00")
    assert (row["finished_by"], row["finished_late"]) == ("platform", True)
    assert (row["deadline_at"], row["overdue_at"]) == (
        at("2026-04-30T12:00:00"),
        at("2026-03-31T12:00:00"),
    )
    assert row["requested_fields"] == ["revenue"]
    assert row["reported_status"] == status


def test_where_nothing_before_the_end_carries_a_deadline_the_earliest_that_does_counts():
    """All that the log knows of it came with the end: two reports, the later one of another day."""
    history = [
        acp("e1", deadline_at=None),
        acp("e2", FIVE_DAYS_LATE, status="FINISHED"),
        acp("e3", "2026-05-06T12:00:00Z", status="FINISHED", deadline_at=LATER),
    ]
    row = process(history, "2026-06-30T12:00:00")
    assert (row["deadline_at"], row["finished_late"]) == (at("2026-04-30T12:00:00"), True)


def test_until_its_end_was_known_a_process_had_the_deadline_of_its_latest_event():
    """Asked for an instant before the end, a later deadline is one."""
    put_off = acp("e2", "2026-05-06T12:00:00Z", "2026-05-04T12:00:00Z", deadline_at=LATER)
    answer = [started(occurred_at="2026-05-05T11:59:00Z"), finished(occurred_at=FIVE_DAYS_LATE)]
    history = [acp(), put_off, *answer]
    assert process(history, "2026-05-05T11:59:59")["deadline_at"] == at("2026-05-30T12:00:00")
    assert process(history, "2026-05-05T12:00:00")["deadline_at"] == at("2026-04-30T12:00:00")


def test_a_later_deadline_of_the_end_takes_back_no_news_that_it_had_expired():
    """The list of what changed since a visit dates it by the deadline that was missed."""
    end = acp("e2", FIVE_DAYS_LATE, status="FINISHED", deadline_at=LATER)
    changes = asked([acp(), end], "changes", at("2026-06-30T12:00:00"))
    dates = {row["change"]: row["changed_at"] for row in changes if row["change"] != "finding"}
    assert dates == {
        "opened": at("2026-03-01T12:00:00"),
        "overdue": at("2026-03-31T12:00:00"),
        "expired": at("2026-04-30T12:00:00"),
        "finished": at("2026-05-05T12:00:00"),
    }
