"""How long finished reviews took to each step."""

from datetime import date

import pytest

from tests.support.ledgers import asked
from tests.support.lines import (
    aci,
    action,
    answered,
    at,
    called,
    finished,
    invited,
    notice,
    refusal,
    result,
    retracted,
    started,
)

MARCH = date(2026, 3, 1)
AS_OF = "2026-06-01T00:00:00"
HOUR, DAY = 3600.0, 86400.0
END = [started("a1", "2026-03-21T12:00:00Z"), finished("a1", 200, "2026-03-21T12:00:02Z")]
"""Twenty days after the opening."""


def steps(history, as_of=AS_OF, view="phase_durations", part="median_seconds"):
    return {row["step"]: row[part] for row in asked(history, view, at(as_of))}


STEPS = {
    "contact": [called("n1", "2026-03-03T12:00:00Z")],
    "opened": [invited("2026-03-03T12:00:00Z", step="opened")],
    "answered": [answered("2026-03-03T12:00:00Z")],
    "confirmed": [invited("2026-03-03T12:00:00Z", step="confirmed")],
    "sent": [started("a0", "2026-03-03T12:00:00Z")],
}


@pytest.mark.parametrize("step", STEPS)
def test_a_step_takes_from_the_opening_to_the_first_of_its_kind(step):
    later = {**STEPS[step][0], "occurred_at": "2026-03-09T12:00:00Z", "message_id": "n2"}
    later = {**later, "attempt_id": "a00", "idempotency_key": "p1"}
    found = steps([aci(), *STEPS[step], later, *END])
    assert found[step] == 2 * DAY
    assert found["finished"] == 20 * DAY + 2
    assert found["sent"] == (2 * DAY if step == "sent" else 20 * DAY)
    # A step of the seller's is a contact, too.
    expected = {step, "sent", "finished"} | ({"contact"} - {step} if step != "sent" else set())
    assert found.keys() == expected


LEFT_OUT = {
    "a call that was taken back": [
        called("n1", "2026-03-03T12:00:00Z"),
        retracted("2026-05-01T00:00:00Z"),
    ],
    "a message that nobody took": [
        notice("n1", "2026-03-03T12:00:00Z"),
        result("uncertain", "2026-03-04T12:00:00Z"),
    ],
    "an answer from elsewhere": [answered("2026-03-03T12:00:00Z", source="bureau")],
    "a link of ours": [invited("2026-03-03T12:00:00Z", expires_at="2026-06-01T00:00:00Z")],
    "a refusal": refusal("a0", "2026-03-03T12:00:00Z"),
    "the end of an attempt whose start is lost": [
        finished("a0", 500, "2026-03-03T12:00:00Z"),
    ],
    "what came before the opening": [answered("2026-03-01T11:59:59.999999Z")],
    "what came after the finish": [answered("2026-03-21T12:00:02.000001Z")],
}


@pytest.mark.parametrize("lines", LEFT_OUT.values(), ids=LEFT_OUT)
def test_what_does_not_count_takes_no_time(lines):
    assert steps([aci(), *lines, *END]) == {"sent": 20 * DAY, "finished": 20 * DAY + 2}


def test_both_ends_count():
    at_both = [answered("2026-03-01T12:00:00Z"), invited("2026-03-21T12:00:02Z", step="confirmed")]
    found = steps([aci(), *at_both, *END])
    assert (found["answered"], found["confirmed"]) == (0.0, 20 * DAY + 2)


def test_a_review_finished_before_it_was_opened_has_no_step():
    before = [started("a1", "2026-02-28T00:00:00Z"), finished("a1", 200, "2026-02-28T00:00:01Z")]
    assert steps([*before, aci()]) == {}
    assert steps([*END]) == {}  # no event is known
    assert steps([aci()]) == {}


def taking(*hours, opened="2026-03-01T12:00:00Z", **more):
    lines = []
    for number, hour in enumerate(hours):
        process_id = f"p{number}"
        days, rest = divmod(hour + 12, 24)
        end = f"2026-03-{1 + days:02}T{rest:02}:00:00Z"
        event = {"process_id": process_id, **more}
        lines += [
            aci(f"e{number}", opened, **event),
            aci(f"f{number}", end, status="FINISHED", **event),
        ]
    return lines


def test_between_two_values_the_quantiles_are_interpolated():
    [row] = asked(taking(1, 2, 4, 10), "phase_durations", at(AS_OF))
    assert (row["processes"], row["median_seconds"]) == (4, 3 * HOUR)
    assert row["p90_seconds"] == pytest.approx((4 + 0.7 * 6) * HOUR)
    [row] = asked(taking(7), "phase_durations", at(AS_OF))
    assert (row["median_seconds"], row["p90_seconds"]) == (7 * HOUR, 7 * HOUR)


def test_reviews_stand_in_the_month_of_their_finish_by_type():
    history = [
        *taking(1, 2),
        aci("g1", process_id="q1"),
        aci("g2", "2026-04-01T00:00:00Z", process_id="q1", status="FINISHED"),
        aci("h1", process_id="q2", type="SOMETHING_NEW"),
        aci("h2", "2026-03-02T12:00:00Z", process_id="q2", status="FINISHED"),
    ]
    found = asked(history, "phase_durations", at(AS_OF))
    assert [tuple(row.values())[:4] for row in found] == [
        (MARCH, "ACI", "finished", 2),
        (MARCH, None, "finished", 1),
        (date(2026, 4, 1), "ACI", "finished", 1),
    ]


def test_by_person_and_channel_a_review_counts_as_for_its_deadline():
    history = [
        aci(),
        action("assignment", "2026-03-02T00:00:00Z", assignee="ana"),
        called("n1", "2026-03-02T12:00:00Z"),
        *END,
        action("assignment", "2026-03-22T00:00:00Z", assignee="bia"),
    ]
    whole = {"contact": DAY, "sent": 20 * DAY, "finished": 20 * DAY + 2}
    for view, column, who in (
        ("phases_by_person", "assignee", "ana"),
        ("phases_by_channel", "channel", "phone"),
    ):
        found = asked(history, view, at(AS_OF))
        assert {row[column] for row in found} == {who}
        assert steps(history, view=view) == whole
