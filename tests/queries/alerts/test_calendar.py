"""What stands in the calendars of deadlines, for how long, and by which sequence clients hear of
changes."""

import pytest

from tests.support.ledgers import asked
from tests.support.lines import aci, acp, action, at, finished, started

ALL = None


def rows(history, as_of, assignee=ALL, process_id="p1"):
    found = [
        (row["state"], row["is_cancelled"], row["sequence"], row["changed_at"])
        for row in asked(history, "calendar_deadlines", at(as_of))
        if (row["assignee"], row["process_id"]) == (assignee, process_id)
    ]
    assert len(found) <= 1
    return found[0] if found else None


def assigned(name, when):
    return action("assignment", when, assignee=name)


def test_a_deadline_stands_in_the_calendar_from_its_first_event_on():
    assert rows([acp()], "2026-03-01T11:59:59") is None
    assert rows([acp()], "2026-03-01T12:00:00") == ("PENDING", False, 3, at("2026-03-01T12:00:00"))


def test_the_clock_alone_makes_the_sequence_grow():
    for as_of, state, sequence, changed_at in (
        ("2026-03-31T11:59:59", "PENDING", 3, "2026-03-01T12:00:00"),
        ("2026-03-31T12:00:00", "OVERDUE", 4, "2026-03-31T12:00:00"),
        ("2026-04-30T12:00:00", "EXPIRED", 5, "2026-04-30T12:00:00"),
    ):
        assert rows([acp()], as_of) == (state, False, sequence, at(changed_at))


def test_a_deadline_that_moves_makes_it_grow_although_the_state_goes_back():
    moved = aci("e2", "2026-04-01T00:00:00Z", deadline_at="2026-05-10T12:00:00Z")
    history = [aci(), moved]
    assert rows(history, "2026-03-31T23:59:59")[:3] == ("EXPIRED", False, 5)
    assert rows(history, "2026-04-01T00:00:00")[:3] == ("OVERDUE", False, 7)
    [row] = asked(history, "calendar_deadlines", at("2026-04-01T00:00:00"))
    assert row["deadline_at"] == at("2026-05-10T12:00:00")


def test_what_was_finished_is_cancelled_for_28_days_and_gone_then():
    history = [aci(), started("a1", "2026-03-10T00:00:00Z"), finished("a1", 200)]
    end = "2026-03-10T00:00:01"
    history[2] = finished("a1", 200, f"{end}Z")
    assert rows(history, "2026-03-10T00:00:00")[:3] == ("OVERDUE", False, 7)
    assert rows(history, end) == ("FINISHED", True, 11, at(end))
    assert rows(history, "2026-04-07T00:00:00")[:3] == ("FINISHED", True, 11)
    assert rows(history, "2026-04-07T00:00:01") is None


def test_an_assignee_has_what_they_were_given_and_hears_that_it_was_taken():
    history = [
        aci(),
        assigned("bia", "2026-03-05T00:00:00Z"),
        assigned("ana", "2026-03-08T00:00:00Z"),
    ]
    assert rows(history, "2026-03-04T23:59:59", "bia") is None
    assert rows(history, "2026-03-05T00:00:00", "bia")[:3] == ("OVERDUE", False, 7)
    assert rows(history, "2026-03-08T00:00:00", "bia")[:3] == ("OVERDUE", True, 10)
    assert rows(history, "2026-03-08T00:00:00", "ana")[:3] == ("OVERDUE", False, 10)
    assert rows(history, "2026-03-08T00:00:00", ALL)[:3] == ("OVERDUE", False, 10)
    assert rows(history, "2026-04-04T23:59:59", "bia")[1] is True
    assert rows(history, "2026-04-05T00:00:00", "bia") is None


def test_what_came_back_to_an_assignee_is_theirs_again():
    days = ("05", "06", "07")
    names = ("bia", "ana", "bia")
    history = [
        aci(),
        *(
            assigned(name, f"2026-03-{day}T00:00:00Z")
            for name, day in zip(names, days, strict=True)
        ),
    ]
    assert rows(history, "2026-03-07T00:00:00", "bia")[1] is False
    assert rows(history, "2026-03-07T00:00:00", "ana")[1] is True


def test_soonest_first_and_what_is_cancelled_last():
    history = [
        aci("e1", process_id="late", deadline_at="2026-03-20T00:00:00Z"),
        aci("e2", process_id="soon", deadline_at="2026-03-10T00:00:00Z"),
        aci("e3", process_id="done", deadline_at="2026-03-05T00:00:00Z"),
        started("a1", "2026-03-02T00:00:00Z", process_id="done"),
        finished("a1", 200, "2026-03-02T00:00:01Z", process_id="done"),
    ]
    found = asked(history, "calendar_deadlines", at("2026-03-03T00:00:00"))
    assert [row["process_id"] for row in found] == ["soon", "late", "done"]


def step(name, feed, when, **more):
    return action("calendar", when, process_id=None, step=name, feed=feed, **more)


FEEDS = [
    step("made", "cal_1", "2026-03-01T00:00:00Z", token_sha256="ab", assignee="bia"),
    step("made", "cal_2", "2026-03-02T00:00:00Z", token_sha256="cd"),
    step("revoked", "cal_1", "2026-03-03T00:00:00Z", actor="eva"),
    step("revoked", "cal_9", "2026-03-03T00:00:00Z"),
]


@pytest.mark.parametrize(
    ("as_of", "expected"),
    [
        ("2026-03-01T12:00:00", [("cal_1", "bia", "ab", None, None)]),
        (
            "2026-03-03T00:00:00",
            [
                ("cal_1", "bia", "ab", at("2026-03-03T00:00:00"), "eva"),
                ("cal_2", None, "cd", None, None),
            ],
        ),
    ],
)
def test_feeds_are_open_until_they_are_revoked(as_of, expected):
    names = ("feed_id", "assignee", "token_sha256", "revoked_at", "revoked_by")
    found = asked(FEEDS, "calendar_feeds", at(as_of))
    assert [tuple(row[name] for name in names) for row in found] == expected
    assert {row["actor"] for row in found} == {"ana"}


def test_a_second_entry_under_the_name_of_a_feed_changes_nothing():
    again = step("made", "cal_1", "2026-03-01T00:00:01Z", token_sha256="ef")
    found = asked([*FEEDS[:1], again], "calendar_feeds", at("2026-03-02T00:00:00"))
    assert [row["token_sha256"] for row in found] == ["ab"]
