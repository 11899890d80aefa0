"""One row per seller with an open review, the worst first, and the last contact that stands."""

import pytest

from tests.queries.notices.builders import FIRST
from tests.support.ledgers import World, asked
from tests.support.lines import (
    aci,
    acp,
    action,
    answered,
    at,
    called,
    invited,
    notice,
    posted,
    result,
    retracted,
    seller,
    started,
)

WORLD = World()
NOW = "2026-03-20T00:00:00"


def listed(history, as_of=NOW):
    return asked(history, "seller_watchlist", at(as_of))


def last_contact(history, as_of=NOW):
    [row] = [row for row in listed(history, as_of) if row["seller_id"] == "s1"]
    found = tuple(row[f"last_contact_{it}"] for it in ("at", "channel", "by"))
    return None if found == (None, None, None) else found


def review(process_id, deadline_at, of=aci, **more):
    return of(f"e-{process_id}", process_id=process_id, deadline_at=deadline_at, **more)


SOON = "2026-03-25T00:00:00Z"
LATER = "2026-03-28T00:00:00Z"
PAST = "2026-03-19T00:00:00Z"
LONG_PAST = "2026-03-10T00:00:00Z"
IN_MAY = "2026-05-30T00:00:00Z"


@WORLD.given(
    review("p1", SOON),
    review("p2", PAST),
    review("p3", LONG_PAST),
    review("p4", IN_MAY, acp),
    review("p5", "2026-03-24T00:00:00Z", status="FINISHED"),
    review("p6", "2026-03-23T00:00:00Z", customer_id="s2"),
    action("assignment", "2026-03-02T00:00:00Z", process_id="p1", assignee="bia"),
    action("assignment", "2026-03-02T00:00:00Z", process_id="p2", assignee="ana"),
    action("assignment", "2026-03-02T00:00:00Z", process_id="p3", assignee="zoe"),
    action("assignment", "2026-03-03T00:00:00Z", process_id="p3", assignee="bia"),
    action("assignment", "2026-03-02T00:00:00Z", process_id="p5", assignee="eva"),
    action("assignment", "2026-03-02T00:00:00Z", process_id="p6", assignee="leo"),
    called("n1", "2026-03-05T00:00:00Z", process_id="p2"),
    called("n2", "2026-03-06T00:00:00Z", process_id="p5"),
)
def test_all_open_reviews_of_a_seller_are_one_row(history):
    expected = {
        "seller_id": "s1",
        "worst_state": "EXPIRED",
        "next_deadline_at": at("2026-03-10T00:00:00"),
        "seconds_to_deadline": -864_000,
        "next_savable_deadline_at": at("2026-03-25T00:00:00"),
        "pending": 1,
        "overdue": 1,
        "expired": 2,
        "last_contact_at": at("2026-03-05T00:00:00"),
        "last_contact_channel": "phone",
        "last_contact_by": "Ana",
        "assignees": ["ana", "bia"],
        "unassigned": 1,
        "review_types": ["ACI", "ACP"],
    }
    [row] = [row for row in listed(history) if row["seller_id"] == "s1"]
    assert {name: row[name] for name in expected} == expected


@WORLD.given(
    review("p1", LONG_PAST, customer_id="s1"),
    review("p2", PAST, customer_id="s2"),
    review("p3", LATER, customer_id="s3"),
    review("p4", LONG_PAST, customer_id="s4"),
    review("p5", SOON, customer_id="s4"),
    review("p6", "2026-03-15T00:00:00Z", customer_id="s0"),
)
def test_what_can_be_saved_comes_first_the_soonest_and_then_what_expired_the_latest(history):
    """Those of whom all has expired stood in the order of their ids."""
    rows = asked(history, "savable_sellers", at(NOW))
    assert [row["seller_id"] for row in rows] == ["s4", "s3", "s2", "s0", "s1"]
    assert sorted(rows, key=repr) == sorted(listed(history), key=repr)


@WORLD.given(
    expired=[review("p1", PAST)],
    due=[review("p1", SOON)],
    pending=[review("p1", IN_MAY, acp)],
)
def test_what_can_be_saved_is_not_expired(expired, due, pending):
    def counted(history, as_of=NOW):
        [row] = listed(history, as_of)
        names = ("worst_state", "next_savable_deadline_at", "pending", "overdue", "expired")
        return tuple(row[name] for name in names)

    assert counted(expired) == ("EXPIRED", None, 0, 0, 1)
    assert counted(due) == ("OVERDUE", at("2026-03-25T00:00:00"), 0, 1, 0)
    assert counted(pending) == ("PENDING", at("2026-05-30T00:00:00"), 1, 0, 0)
    before = "2026-03-24T23:59:59.999999"
    assert counted(due, before) == ("OVERDUE", at("2026-03-25T00:00:00"), 0, 1, 0)
    assert counted(due, "2026-03-25T00:00:00") == ("EXPIRED", None, 0, 0, 1)


@WORLD.given(review("p1", SOON))
def test_seconds_are_rounded_down_to_the_deadline_itself(history):
    def seconds(as_of):
        [row] = listed(history, as_of)
        return row["seconds_to_deadline"]

    assert seconds("2026-03-24T23:59:58.999999") == 1
    assert seconds("2026-03-24T23:59:59.000001") == 0
    assert seconds("2026-03-25T00:00:00") == 0
    assert seconds("2026-03-25T00:00:00.000001") == -1


@WORLD.given(
    finished=[review("p1", SOON, status="FINISHED")],
    unknown=[answered()],
    of_nobody=[review("p1", SOON, customer_id=None)],
    only_notified=[called()],
)
def test_finished_and_unknown_processes_and_those_of_no_seller_are_in_no_row(
    finished, unknown, of_nobody, only_notified
):
    for history in (finished, unknown, of_nobody, only_notified):
        assert listed(history) == []


def test_expired_come_first_then_overdue_then_pending_each_by_deadline_then_by_seller():
    reviews = [
        ("s1", IN_MAY, acp),
        ("s2", "2026-05-29T00:00:00Z", acp),
        ("s3", LATER, aci),
        ("s5", SOON, aci),
        ("s4", SOON, aci),
        ("s6", PAST, aci),
        ("s7", LONG_PAST, aci),
    ]
    history = [review(f"p-{seller}", due, of, customer_id=seller) for seller, due, of in reviews]
    found = [row["seller_id"] for row in listed(history)]
    assert found == ["s7", "s6", "s4", "s5", "s3", "s2", "s1"]


EXPIRED_AND_PENDING = [review("p1", IN_MAY, acp), review("p2", PAST)]


def test_a_seller_stands_where_its_worst_review_does():
    history = [*EXPIRED_AND_PENDING, review("p3", SOON, customer_id="s2")]
    assert [row["seller_id"] for row in listed(history)] == ["s1", "s2"]


# --- the last contact that stands ---

OPEN = aci()
ACCEPTED = result("accepted", "2026-03-02T00:00:05Z")
OF_STEP = (at("2026-03-01T13:00:00"), "web_form", None)

CONTACTS = {
    "nobody": ([OPEN], {NOW: None}),
    "a message by the schedule": (
        [OPEN, notice(rung="day_0"), ACCEPTED],
        {
            "2026-03-02T00:00:04.999999": None,
            "2026-03-02T00:00:05": (at("2026-03-02T00:00:05"), "email", None),
        },
    ),
    "a message by hand": (
        [OPEN, notice(actor="Ana"), ACCEPTED],
        {NOW: (at("2026-03-02T00:00:05"), "email", "Ana")},
    ),
    "a letter": ([OPEN, posted()], {NOW: (at("2026-03-02T00:00:00"), "letter", "Bia")}),
    "an invitation of another system": ([OPEN, invited()], {NOW: OF_STEP}),
    "one that somebody else sent": ([OPEN, invited(source="marketplace")], {NOW: OF_STEP}),
    "the making of a link": ([OPEN, invited(expires_at="2026-03-04T13:00:00Z")], {NOW: None}),
    "opened": ([OPEN, invited(step="opened")], {NOW: OF_STEP}),
    "opened by a link": (
        [OPEN, invited(step="opened", expires_at="2026-03-04T13:00:00Z")],
        {NOW: OF_STEP},
    ),
    "answered": ([OPEN, answered("2026-03-01T13:00:00Z")], {NOW: OF_STEP}),
    "confirmed": ([OPEN, invited(step="confirmed")], {NOW: OF_STEP}),
    "answered from elsewhere": ([OPEN, answered(source="bureau")], {NOW: None}),
    "opened by somebody else": ([OPEN, invited(step="opened", source="bureau")], {NOW: None}),
    "a reminder as it was recorded before": (
        [OPEN, action("reminded", "2026-03-05T00:00:00Z", channel="phone")],
        {NOW: None},
    ),
    "the latest of several": (
        [OPEN, called("n2", "2026-03-03T00:00:00Z"), posted(), invited()],
        {NOW: (at("2026-03-03T00:00:00"), "phone", "Ana")},
    ),
    "the one before a withdrawn one": (
        [OPEN, called("n2", "2026-03-03T00:00:00Z"), posted(), retracted(PAST, "n2")],
        {
            "2026-03-18T23:59:59.999999": (at("2026-03-03T00:00:00"), "phone", "Ana"),
            "2026-03-19T00:00:00": (at("2026-03-02T00:00:00"), "letter", "Bia"),
        },
    ),
    "of a seller's other open review": (
        [OPEN, review("p2", PAST), called(process_id="p2")],
        {NOW: (at("2026-03-02T00:00:00"), "phone", "Ana")},
    ),
    "of a review of another seller": (
        [OPEN, review("p2", PAST, customer_id="s2"), called(process_id="p2")],
        {NOW: None},
    ),
    "of a review that is finished": (
        [OPEN, review("p2", PAST, status="FINISHED"), called(process_id="p2")],
        {NOW: None},
    ),
    "at one instant by channel": (
        [OPEN, posted("n1"), called("n2")],
        {NOW: (at("2026-03-02T00:00:00"), "letter", "Bia")},
    ),
    "at one instant and channel by message": (
        [
            OPEN,
            notice("n2", "2026-03-02T00:00:00Z", "letter", actor="Caio"),
            posted("n1"),
        ],
        {NOW: (at("2026-03-02T00:00:00"), "letter", "Bia")},
    ),
    "at one instant and channel a message before a step": (
        [
            *(OPEN, invited("2026-03-02T00:00:05Z", channel="email")),
            *(notice(actor="Ana"), ACCEPTED),
        ],
        {NOW: (at("2026-03-02T00:00:05"), "email", "Ana")},
    ),
    "at one instant a step of a smaller channel": (
        [*(OPEN, invited("2026-03-02T00:00:00Z", channel="in_app")), called()],
        {NOW: (at("2026-03-02T00:00:00"), "in_app", None)},
    ),
}


@pytest.mark.parametrize(
    ("history", "as_of", "expected"),
    [
        pytest.param(history, as_of, expected, id=f"{name}, {as_of}")
        for name, (lines, instants) in CONTACTS.items()
        for history in [WORLD.add(FIRST, *lines)]
        for as_of, expected in instants.items()
    ],
)
def test_the_last_contact_is_the_latest_that_stands(history, as_of, expected):
    assert last_contact(history, as_of) == expected


@WORLD.given(
    OPEN,
    action("assignment", "2026-03-02T00:00:00Z", assignee="ana"),
    later=[
        OPEN,
        action("assignment", "2026-03-03T00:00:00Z", assignee="bia"),
        action("assignment", "2026-03-02T00:00:00Z", assignee="ana"),
    ],
    of_attempt=[OPEN, started()],
)
def test_assignees_are_those_of_the_latest_assignment(history, later, of_attempt):
    def assignees(history, as_of=NOW):
        [row] = listed(history, as_of)
        return row["assignees"]

    assert assignees(history, "2026-03-01T23:59:59.999999") == []
    assert assignees(history, "2026-03-02T00:00:00") == ["ana"]
    assert assignees(later) == ["bia"]
    assert assignees(of_attempt) == []


@WORLD.given(
    review("p1", SOON),
    review("p2", LONG_PAST, status="FINISHED", created_at="2026-03-15T00:00:00Z"),
    seller("created", "e1", "2026-03-01T00:00:00Z", current_balance=100),
    seller("updated", "e2", "2026-03-05T00:00:00Z", current_balance="250.5"),
    seller("disabled", "e3", "2026-03-09T23:59:59Z"),
    in_time=[review("p1", SOON), seller("disabled", "e3", "2026-03-19T00:00:00Z")],
    late=[
        review("p1", SOON),
        review("p2", LONG_PAST),
        review("p3", PAST, customer_id="s2"),
        seller("disabled", "e1", "2026-03-10T00:00:00Z"),
        seller("disabled", "e2", "2026-03-12T00:00:00Z"),
    ],
)
def test_what_is_at_stake_and_whether_an_expiry_ended_in_a_block(history, in_time, late):
    def stake(history):
        row = next(row for row in listed(history) if row["seller_id"] == "s1")
        return row["current_balance"], row["balance_at"], row["expiry_disabled_at"]

    assert stake(history) == (250.5, at("2026-03-05T00:00:00"), None)
    assert stake(in_time) == (None, None, None)
    assert stake(late) == (None, None, at("2026-03-12T00:00:00"))
    [other] = [row for row in listed(late) if row["seller_id"] == "s2"]
    assert other["expiry_disabled_at"] is None
