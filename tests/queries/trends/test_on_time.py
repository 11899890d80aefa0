"""What became of the reviews due in a month or week, also by person and by channel."""

from datetime import date

import pytest

from tests.support.ledgers import asked
from tests.support.lines import (
    aci,
    acp,
    action,
    answered,
    at,
    called,
    finished,
    invited,
    notice,
    posted,
    result,
    retracted,
    started,
)

MARCH, APRIL = date(2026, 3, 1), date(2026, 4, 1)
NOON = "2026-03-31T12:00:00"
"""The deadline of an ACI opened on 1 March."""


def due(process_id, deadline_at="2026-03-31T12:00:00Z", **more):
    return aci(f"e-{process_id}", process_id=process_id, deadline_at=deadline_at, **more)


def accepted(process_id, instant):
    attempt = {"process_id": process_id}
    return [
        started(f"a-{process_id}", instant, **attempt),
        finished(f"a-{process_id}", 200, instant, **attempt),
    ]


def table(history, view, as_of):
    return [tuple(row.values()) for row in asked(history, view, at(as_of))]


FATES = [
    due("p1"),  # in time by a microsecond
    *accepted("p1", "2026-03-31T11:59:59.999999Z"),
    due("p2"),  # late: at the deadline itself
    *accepted("p2", "2026-03-31T12:00:00Z"),
    due("p3"),  # nobody did anything
    due("p4", "2026-04-30T12:00:00Z", status="EXPIRED"),  # reported before its deadline
    due("p5", "2026-04-30T12:00:00Z"),
    due("p6", "2026-04-30T12:00:00Z"),
    *accepted("p6", "2026-03-10T00:00:00Z"),
    started("a9", process_id="p9"),  # nothing is known of its deadline
    *accepted("p8", "2026-03-10T00:00:00Z"),
]


def test_reviews_due_in_a_month_end_in_one_of_four_ways():
    before, after = "2026-03-31T11:59:59.999999", "2026-04-10T00:00:00"
    assert table(FATES, "on_time_by_month", before) == [
        (MARCH, "ACI", 3, 1, 0, 0, 2, 0, None),
        (APRIL, "ACI", 3, 1, 0, 1, 1, 0, None),
    ]
    # Two of the three were unfinished at the very deadline; one of them was finished by it.
    assert table(FATES, "on_time_by_month", after) == [
        (MARCH, "ACI", 3, 1, 1, 1, 0, 3, 1 / 3),
        (APRIL, "ACI", 3, 1, 0, 1, 1, 0, None),
    ]
    assert table(FATES, "on_time_by_month", "2026-05-01T00:00:00")[1] == (
        *(APRIL, "ACI", 3, 1, 0, 2, 0, 3, 1 / 3),
    )
    assert table([], "on_time_by_month", after) == []


def test_months_and_weeks_begin_at_midnight_utc_and_types_stand_apart():
    """1 March 2026 was a Sunday."""
    history = [
        due("p1", "2026-03-01T23:59:59.999999Z"),
        due("p2", "2026-03-01T23:00:00-03:00"),
        due("p3", "2026-02-28T23:59:59.999999Z"),
        due("p4", "2026-03-02T00:00:00Z", type="REGISTRATION_REVIEW_REQUIRED"),
        due("p5", "2026-03-03T00:00:00Z", type="SOMETHING_NEW"),
    ]
    as_of = "2026-04-01T00:00:00"
    assert [row[:3] for row in table(history, "on_time_by_month", as_of)] == [
        (date(2026, 2, 1), "ACI", 1),
        (MARCH, "ACI", 2),
        (MARCH, "ACP", 1),
        (MARCH, None, 1),
    ]
    assert [row[:3] for row in table(history, "on_time_by_week", as_of)] == [
        (date(2026, 2, 23), "ACI", 2),
        (date(2026, 3, 2), "ACI", 1),
        (date(2026, 3, 2), "ACP", 1),
        (date(2026, 3, 2), None, 1),
    ]


def test_an_extended_deadline_moves_a_review_to_its_month():
    history = [due("p1"), acp("e2", "2026-03-20T00:00:00Z", deadline_at="2026-04-02T00:00:00Z")]
    assert [row[:3] for row in table(history, "on_time_by_month", "2026-03-19T00:00:00")] == [
        (MARCH, "ACI", 1)
    ]
    assert [row[:3] for row in table(history, "on_time_by_month", "2026-03-20T00:00:00")] == [
        (APRIL, "ACI", 1)
    ]


# --- by person ---


def assigned(assignee, instant, process_id="p1"):
    return action("assignment", instant, process_id=process_id, assignee=assignee)


def people(history, as_of):
    return {(row[0], row[1]): row[2:] for row in table(history, "on_time_by_person", as_of)}


def test_a_review_counts_for_who_had_it_at_its_end_once_that_has_come():
    history = [
        due("p1"),
        assigned("ana", "2026-03-31T12:00:00Z"),  # at the end itself
        assigned("bia", "2026-03-31T12:00:00.000001Z"),
        due("p2"),
        assigned("ana", "2026-03-02T00:00:00Z", "p2"),
        assigned(None, "2026-03-03T00:00:00Z", "p2"),
        due("p3"),
        assigned("ana", "2026-03-02T00:00:00Z", "p3"),
        *accepted("p3", "2026-03-10T00:00:00Z"),
        assigned("bia", "2026-03-10T00:00:01Z", "p3"),
        due("p4", "2026-05-30T00:00:00Z"),
        assigned("ana", "2026-03-02T00:00:00Z", "p4"),
    ]
    assert people(history, "2026-03-09T23:59:59") == {}
    # p3 has ended, and its deadline has not come: it counts in no share.
    assert people(history, "2026-03-10T00:00:00") == {(MARCH, "ana"): (1, 1, 0, 0, 0, None)}
    assert people(history, "2026-04-02T00:00:00") == {
        (MARCH, "ana"): (2, 1, 0, 1, 2, 0.5),
        (MARCH, None): (1, 0, 0, 1, 1, 0.0),
    }


def test_what_was_finished_late_counts_for_who_had_it_at_the_deadline():
    history = [
        due("p1"),
        assigned("ana", "2026-03-02T00:00:00Z"),
        assigned("bia", "2026-04-02T00:00:00Z"),
        *accepted("p1", "2026-04-03T00:00:00Z"),
    ]
    assert people(history, "2026-04-05T00:00:00") == {(MARCH, "ana"): (1, 0, 1, 0, 1, 0.0)}


# --- by channel ---

AFTER = "2026-04-10T00:00:00"

CHANNELS = {
    "nobody contacted them": ([], None),
    "a call": ([called()], "phone"),
    "a call that reached nobody": ([called(outcome="no_answer")], None),
    "the last of several": ([called("n1"), posted("n2", "2026-03-05T00:00:00Z")], "letter"),
    "at the deadline itself": ([called("n1", "2026-03-31T12:00:00Z")], "phone"),
    "after the deadline": ([called("n1", "2026-03-31T12:00:00.000001Z")], None),
    "what was taken back since": ([called(), retracted("2026-04-09T00:00:00Z")], None),
    "what was taken back later": ([called(), retracted("2026-04-10T00:00:01Z")], "phone"),
    "a message that arrived": (
        [notice(), result("accepted", "2026-03-02T00:00:01Z")],
        "email",
    ),
    "a message that came back": (
        [
            notice(),
            result("accepted", "2026-03-02T00:00:01Z"),
            result("bounced", "2026-04-01T00:00:00Z"),
        ],
        None,
    ),
    "a message taken after the deadline": (
        [notice(), result("accepted", "2026-03-31T12:00:00.000001Z")],
        None,
    ),
    "a step of the seller's": ([answered(channel="in_app")], "in_app"),
    "a link of ours": ([invited(expires_at="2026-06-01T00:00:00Z")], None),
    "the first by name of two at once": ([called("n1"), posted("n2")], "letter"),
}


@pytest.mark.parametrize(("lines", "channel"), CHANNELS.values(), ids=CHANNELS)
def test_a_review_counts_for_the_channel_of_its_last_contact_by_its_end(lines, channel):
    history = [due("p1"), *lines]
    assert table(history, "on_time_by_channel", AFTER) == [(MARCH, channel, 1, 0, 0, 1, 1, 0.0)]


def test_contacts_after_an_early_finish_do_not_count():
    history = [due("p1"), *accepted("p1", "2026-03-10T00:00:00Z"), called("n1", f"{NOON}Z")]
    assert table(history, "on_time_by_channel", AFTER) == [(MARCH, None, 1, 1, 0, 0, 1, 1.0)]


# --- load ---


def test_a_week_says_what_came_and_went_and_what_it_leaves_unfinished():
    """Opened on Sunday, 1 March, and on Monday, 9 March; one was finished on that Sunday."""
    history = [
        due("p1"),
        aci("e-p2", "2026-03-09T00:00:00Z", process_id="p2"),
        aci("e-p3", "2026-03-09T00:00:00Z", process_id="p3"),
        *accepted("p1", "2026-03-15T23:59:59Z"),
        *accepted("p2", "2026-03-16T00:00:00Z"),
    ]
    weeks = [(date(2026, 2, 23), 1, 0, 1), (date(2026, 3, 9), 2, 1, 2)]
    assert table(history, "flow_by_week", "2026-03-15T23:59:59") == weeks
    later = table(history, "flow_by_week", "2026-04-01T00:00:00")
    assert later == [*weeks, (date(2026, 3, 16), 0, 1, 1)]
