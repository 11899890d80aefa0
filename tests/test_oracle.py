"""Pins the oracle itself: every expected value is written out by hand from rules.md."""

from datetime import date, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import histories, oracle
from tests.oracle.reading import Unreadable, instant, read_json


def at(text: str) -> datetime:
    """A naive UTC datetime."""
    return datetime.fromisoformat(f"{text}+00:00").replace(tzinfo=None)


def webhook(body: object, occurred_at: str = "2026-03-01T12:00:00Z", **more: object) -> dict:
    return {"kind": "webhook", "occurred_at": occurred_at, "body": body, **more}


def review(
    event_id: str = "e1",
    created_at: str | None = "2026-03-01T12:00:00Z",
    occurred_at: str = "2026-03-01T12:00:00Z",
    **review: object,
) -> dict:
    """An ACP of seller s1, due on 30 April; `review` overrides fields of payload.object."""
    given_object = {
        "type": "REGISTRATION_REVIEW_REQUIRED",
        "process_id": "p1",
        "customer_id": "s1",
        "status": "PENDING",
        "deadline_at": "2026-04-30T12:00:00Z",
        "requested_fields": ["revenue"],
        **review,
    }
    body = {
        "id": event_id,
        "type": "regulatory.registration.review.required",
        "created_at": created_at,
        "payload": {"object": given_object},
    }
    return webhook(body, occurred_at)


def aci(event_id: str = "e1", **more: object) -> dict:
    """An ACI of seller s1, due on 31 March."""
    return review(
        event_id,
        **{
            "type": "INCONSISTENT_DATA_UPDATE_REQUIRED",
            "status": "OVERDUE",
            "deadline_at": "2026-03-31T12:00:00Z",
            **more,
        },
    )


def started(attempt_id: str = "a1", occurred_at: str = "2026-03-02T00:00:00Z", **more) -> dict:
    return {
        "kind": "submission_started",
        "occurred_at": occurred_at,
        "attempt_id": attempt_id,
        "process_id": "p1",
        "seller_id": "s1",
        "marketplace_id": "m1",
        "idempotency_key": "p1",
        "body": {"process_id": "p1", "type": "individual", "revenue": "1000_to_5000"},
        **more,
    }


def finished(
    attempt_id: str = "a1",
    status: int | None = 200,
    occurred_at: str = "2026-03-02T00:00:01Z",
    **more: object,
) -> dict:
    return {
        "kind": "submission_finished",
        "occurred_at": occurred_at,
        "attempt_id": attempt_id,
        "process_id": "p1",
        "status": status,
        "error": None,
        "body": None,
        **more,
    }


def collection(occurred_at: str = "2026-03-01T18:00:00Z", **more: object) -> dict:
    return {
        "kind": "collection",
        "occurred_at": occurred_at,
        "process_id": "p1",
        "seller_id": "s1",
        "journey_id": "j1",
        "step": "answered",
        "channel": "web_form",
        "source": "seller",
        "actor": "Maria",
        "fields": {"revenue": "1000_to_5000"},
        **more,
    }


def seller_event(
    action: str,
    event_id: str,
    created_at: str = "2026-03-01T12:00:00Z",
    seller_id: str = "s1",
    occurred_at: str = "2026-03-01T12:00:00Z",
    **record: object,
) -> dict:
    body = {
        "id": event_id,
        "type": f"seller.{action}",
        "created_at": created_at,
        "payload": {"object": {"id": seller_id, "resource": "seller", **record}},
    }
    return webhook(body, occurred_at)


def process(history: list[dict], as_of: str) -> dict:
    [row] = oracle.rows("process_state", history, at(as_of))
    return row


def found(history: list[dict], as_of: str, *rules: str) -> list[tuple]:
    """(rule, severity, seq, found_at) of the findings of those rules."""
    return [
        (row["rule"], row["severity"], row["seq"], row["found_at"])
        for row in oracle.rows("findings", history, at(as_of))
        if row["rule"] in rules
    ]


# Instants and bytes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00"),
        ("2026-03-01T12:00:00", "2026-03-01T12:00:00"),
        ("2026-03-01T12:00:00+00:00", "2026-03-01T12:00:00"),
        ("2026-03-01T09:00:00-03:00", "2026-03-01T12:00:00"),
        ("2026-03-01T17:45:00+05:45", "2026-03-01T12:00:00"),
        ("2026-03-01T12:00:00.1Z", "2026-03-01T12:00:00.100000"),
        ("2026-03-01T12:00:00.123456999Z", "2026-03-01T12:00:00.123456"),
        ("2026-03-01T23:59:59.9999999-01:00", "2026-03-02T00:59:59.999999"),
    ],
)
def test_an_instant_is_utc_and_digits_past_the_microsecond_are_cut(text, expected):
    assert instant(text) == at(expected)


@pytest.mark.parametrize(
    "text", ["2026-03-01", "", "soon", None, 5, "2026-02-30T00:00:00Z", "0001-01-01T00:00:00+01:00"]
)
def test_what_is_no_date_and_time_is_no_instant(text):
    assert instant(text) is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"\xff",
        b"\xef\xbb\xbf{}",
        b'{"a":1,"a":1}',
        b'{"a":{"b":1,"b":2}}',
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b'{"a":1e400}',
        b'{"a":"\\ud800"}',
        b"[" * 5000 + b"]" * 5000,
    ],
)
def test_each_json_trap_is_unreadable(body):
    with pytest.raises(Unreadable):
        read_json(body)


@pytest.mark.parametrize(
    "body",
    [
        "not json",
        "[]",
        '{"id":"e1"}',
        '{"id":"e1","type":""}',
        '{"id":"e1","type":7}',
        '{"type":"regulatory.registration.review.required","payload":{}}',
    ],
)
def test_a_body_without_a_type_or_a_review_goes_to_quarantine(body):
    history = [webhook(body)]
    [row] = oracle.rows("quarantine", history, at("2026-03-01T12:00:00"))
    assert (row["seq"], row["occurred_at"]) == (1, at("2026-03-01T12:00:00"))
    [delivery] = oracle.rows("deliveries", history, at("2026-03-02T00:00:00"))
    assert (delivery["kind"], delivery["event_id"]) == ("quarantine", None)
    assert found(history, "2026-03-02T00:00:00", "quarantined") == [
        ("quarantined", "risk", 1, at("2026-03-01T12:00:00"))
    ]


@pytest.mark.parametrize("key", ["process_id", "customer_id", "type", "deadline_at"])
@pytest.mark.parametrize("value", ["", None, 5])
def test_a_review_event_must_name_process_seller_type_and_deadline(key, value):
    history = [review(**{key: value})]
    assert len(oracle.rows("quarantine", history, at("2026-03-02T00:00:00"))) == 1
    assert oracle.rows("process_state", history, at("2026-03-02T00:00:00")) == []


def test_a_replay_takes_a_delivery_out_of_the_quarantined_findings():
    history = [webhook("{}"), {**review(), "replay_of": 1, "origin": "live"}]
    assert found(history, "2026-03-02T00:00:00", "quarantined") == []
    assert process(history, "2026-03-02T00:00:00")["state"] == "PENDING"
    [row] = oracle.rows("quarantine", history, at("2026-03-02T00:00:00"))
    assert row["replayed_as"] == 2


# Counting once


def test_ingested_lines_equal_in_kind_instant_and_content_are_one_entry():
    same_line_other_spelling = review(occurred_at="2026-03-01T09:00:00-03:00")
    history = [review(), same_line_other_spelling, collection()]
    [delivery] = oracle.rows("deliveries", history, at("2026-03-02T00:00:00"))
    [collected] = oracle.rows("collections", history, at("2026-03-02T00:00:00"))
    assert (delivery["seq"], collected["seq"]) == (1, 2)
    assert oracle.rows("redeliveries", history, at("2026-03-02T00:00:00")) == []


def test_live_deliveries_of_one_event_are_two_deliveries_and_one_event():
    history = [
        {**review(), "origin": "live"},
        {**review(occurred_at="2026-03-01T13:00:00Z"), "origin": "live"},
    ]
    rows = oracle.rows("deliveries", history, at("2026-03-02T00:00:00"))
    assert [(row["seq"], row["is_redelivery"], row["is_altered"]) for row in rows] == [
        (1, False, False),
        (2, True, False),
    ]
    assert oracle.rows("redeliveries", history, at("2026-03-02T00:00:00")) == [
        {
            "event_id": "e1",
            "event_type": "regulatory.registration.review.required",
            "deliveries": 2,
            "altered": 0,
            "first_at": at("2026-03-01T12:00:00"),
            "last_at": at("2026-03-01T13:00:00"),
        }
    ]
    assert oracle.rows("redeliveries", history, at("2026-03-01T12:59:59.999999")) == []


def test_of_one_event_id_with_different_bytes_the_earliest_counts_and_the_other_is_altered():
    history = [
        review(occurred_at="2026-03-01T13:00:00Z", deadline_at="2026-05-30T12:00:00Z"),
        review(occurred_at="2026-03-01T12:00:00Z"),
    ]
    assert process(history, "2026-03-02T00:00:00")["deadline_at"] == at("2026-04-30T12:00:00")
    rows = oracle.rows("deliveries", history, at("2026-03-02T00:00:00"))
    assert [(row["is_redelivery"], row["is_altered"]) for row in rows] == [
        (False, True),
        (True, False),
    ]
    assert found(history, "2026-03-02T00:00:00", "event_altered", "deadline_changed") == [
        ("event_altered", "risk", 1, at("2026-03-01T13:00:00"))
    ]


def test_altered_bytes_at_one_instant_are_settled_by_the_smaller_sha256():
    # sha256sum says 46402304... of x and edf356b1... of y.
    history = [webhook('{"id":"e","type":"x"}'), webhook('{"id":"e","type":"y"}')]
    for order in (history, history[::-1]):
        rows = oracle.rows("deliveries", order, at("2026-03-02T00:00:00"))
        assert {row["event_type"]: row["is_altered"] for row in rows} == {"x": False, "y": True}


def test_an_event_without_an_id_is_named_by_the_sha256_of_its_body():
    [row] = oracle.rows("deliveries", [webhook('{"type":"x"}')], at("2026-03-02T00:00:00"))
    assert row["event_id"] == (
        "sha256:c432d16d2a54b09f4af18a18a547a31b57d802f3e057950b50a62052c14cc999"
    )


def test_an_event_without_created_at_takes_its_receipt():
    history = [review(created_at=None, occurred_at="2026-03-01T12:00:05Z")]
    row = process(history, "2026-03-02T00:00:00")
    assert (row["opened_at"], row["reported_at"]) == (
        at("2026-03-01T12:00:05"),
        at("2026-03-01T12:00:05"),
    )


# The clocks of section 2


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
def test_an_acp_is_pending_then_overdue_then_expired_to_the_microsecond(
    as_of, state, days_to_deadline, days_to_overdue
):
    row = process([review()], as_of)
    assert row["state"] == state
    assert row["overdue_at"] == at("2026-03-31T12:00:00")
    assert (row["days_to_deadline"], row["days_to_overdue"]) == (days_to_deadline, days_to_overdue)


@pytest.mark.parametrize(
    ("as_of", "state"),
    [
        ("2026-03-01T12:00:00", "OVERDUE"),
        ("2026-03-31T11:59:59.999999", "OVERDUE"),
        ("2026-03-31T12:00:00", "EXPIRED"),
    ],
)
@pytest.mark.parametrize(
    ("type_code", "review_type"),
    [("INCONSISTENT_DATA_UPDATE_REQUIRED", "ACI"), ("SOMETHING_NEW", None)],
)
def test_an_aci_and_an_unknown_type_are_overdue_from_the_start(
    as_of, state, type_code, review_type
):
    row = process([aci(type=type_code)], as_of)
    assert (row["state"], row["review_type"]) == (state, review_type)
    assert row["overdue_at"] == at("2026-03-01T12:00:00")
    assert row["days_to_overdue"] is None


def test_an_event_counts_from_its_receipt_on():
    history = [review(occurred_at="2026-03-01T12:00:03Z")]
    assert oracle.rows("process_state", history, at("2026-03-01T12:00:02.999999")) == []
    assert process(history, "2026-03-01T12:00:03")["state"] == "PENDING"


def test_a_report_that_is_graver_than_the_clock_stands_and_a_later_milder_one_takes_nothing_back():
    history = [
        review("e1"),
        review("e2", created_at="2026-03-02T12:00:00Z", status="EXPIRED"),
        review("e3", created_at="2026-03-03T12:00:00Z", status="PENDING"),
    ]
    row = process(history, "2026-03-05T00:00:00")
    assert (row["state"], row["reported_status"]) == ("EXPIRED", "PENDING")


@pytest.mark.parametrize("status", ["SUSPENDED", "", None, 3])
def test_a_missing_or_unknown_status_ranks_nowhere(status):
    row = process([review(status=status)], "2026-03-02T00:00:00")
    assert row["state"] == "PENDING"
    assert row["status_disagrees"] is False


def test_an_extended_deadline_starts_afresh():
    history = [
        aci("e1", status="EXPIRED"),
        aci(
            "e2",
            created_at="2026-03-05T12:00:00Z",
            deadline_at="2026-04-15T12:00:00Z",
            status="OVERDUE",
        ),
    ]
    row = process(history, "2026-03-06T12:00:00")
    assert (row["state"], row["deadline_at"]) == ("OVERDUE", at("2026-04-15T12:00:00"))
    assert (row["days_to_deadline"], row["deadline_changed"]) == (40, True)


def test_one_deadline_in_two_spellings_is_no_change_and_carries_its_reports():
    history = [
        review("e1", status="EXPIRED"),
        review("e2", created_at="2026-03-02T00:00:00Z", deadline_at="2026-04-30T09:00:00-03:00"),
    ]
    row = process(history, "2026-03-03T00:00:00")
    assert (row["deadline_changed"], row["state"]) == (False, "EXPIRED")


def test_type_and_seller_come_from_the_earliest_event_deadline_and_fields_from_the_latest():
    history = [
        review(
            "e2",
            created_at="2026-03-02T12:00:00Z",
            occurred_at="2026-03-02T12:00:00Z",
            type="INCONSISTENT_DATA_UPDATE_REQUIRED",
            customer_id="s2",
            deadline_at="2026-05-01T12:00:00Z",
            requested_fields=["address"],
        ),
        review("e1", occurred_at="2026-03-03T12:00:00Z"),
    ]
    row = process(history, "2026-03-04T00:00:00")
    assert (row["review_type"], row["seller_id"]) == ("ACP", "s1")
    assert (row["opened_at"], row["deadline_at"]) == (
        at("2026-03-01T12:00:00"),
        at("2026-05-01T12:00:00"),
    )
    assert row["requested_fields"] == ["address"]
    assert row["identity_changed"] is True


def test_events_created_at_one_instant_are_ordered_by_receipt_then_by_id():
    tied = {"created_at": "2026-03-01T12:00:00Z"}
    by_id = [review("e2", **tied, status="OVERDUE"), review("e10", **tied, status="PENDING")]
    assert process(by_id, "2026-03-02T00:00:00")["reported_status"] == "OVERDUE"
    by_receipt = [
        review("e2", **tied, status="OVERDUE"),
        review("e10", **tied, occurred_at="2026-03-01T12:00:01Z", status="PENDING"),
    ]
    assert process(by_receipt, "2026-03-02T00:00:00")["reported_status"] == "PENDING"


def test_a_process_without_a_review_event_is_unknown_until_a_200():
    history = [started(), finished()]
    before = process(history, "2026-03-02T00:00:00.999999")
    assert (before["state"], before["seller_id"], before["last_outcome"]) == (
        "UNKNOWN",
        "s1",
        "in_flight",
    )
    assert (before["deadline_at"], before["deadline_mismatch"], before["finished_late"]) == (
        None,
        None,
        False,
    )
    after = process(history, "2026-03-02T00:00:01")
    assert (after["state"], after["finished_by"]) == ("FINISHED", "submission")
    assert oracle.rows("deadline_calendar", history, at("2026-03-03T00:00:00")) == []


# Finishing


@pytest.mark.parametrize(
    ("reported", "finished_at", "finished_by"),
    [
        ("2026-03-02T00:00:00.999999Z", "2026-03-02T00:00:00.999999", "platform"),
        ("2026-03-02T00:00:01Z", "2026-03-02T00:00:01", "submission"),
        ("2026-03-02T00:00:01.000001Z", "2026-03-02T00:00:01", "submission"),
    ],
)
def test_the_earlier_of_the_200_and_the_report_finishes_and_a_tie_is_the_submission(
    reported, finished_at, finished_by
):
    history = [review(), started(), finished(), review("e2", reported, status="FINISHED")]
    row = process(history, "2026-03-03T00:00:00")
    assert (row["state"], row["finished_at"], row["finished_by"]) == (
        "FINISHED",
        at(finished_at),
        finished_by,
    )
    assert (row["days_to_deadline"], row["days_to_overdue"]) == (None, None)


@pytest.mark.parametrize(
    ("ended", "late"),
    [("2026-04-30T11:59:59.999999Z", False), ("2026-04-30T12:00:00Z", True)],
)
def test_finished_at_the_deadline_is_late(ended, late):
    history = [
        review(),
        started(occurred_at="2026-04-30T11:00:00Z"),
        finished(occurred_at=ended),
    ]
    assert process(history, "2026-05-02T00:00:00")["finished_late"] is late
    assert len(found(history, "2026-05-02T00:00:00", "finished_late")) == int(late)


def test_the_finish_is_the_earliest_200_though_its_attempt_started_later():
    history = [
        review(),
        started("a1", "2026-03-02T00:00:00Z"),
        started("a2", "2026-03-02T00:00:01Z"),
        finished("a2", 200, "2026-03-02T00:00:05Z"),
        finished("a1", 200, "2026-03-02T00:00:09Z"),
    ]
    assert process(history, "2026-03-03T00:00:00")["finished_at"] == at("2026-03-02T00:00:05")


def test_an_open_report_created_after_the_finish_is_open_after_finish_and_reopens_nothing():
    history = [
        review(),
        started(),
        finished(),
        review("e2", "2026-03-02T00:00:01Z", status="OVERDUE"),
        review("e3", "2026-03-02T00:00:01.000001Z", status="OVERDUE"),
    ]
    assert process(history[:4], "2026-03-03T00:00:00")["open_after_finish"] is False
    row = process(history, "2026-03-03T00:00:00")
    assert (row["open_after_finish"], row["state"]) == (True, "FINISHED")
    assert found(history, "2026-03-03T00:00:00", "open_after_finish") == [
        ("open_after_finish", "risk", 5, at("2026-03-02T00:00:01.000001"))
    ]


@pytest.mark.parametrize(
    ("deadline_at", "mismatch"),
    [
        ("2026-04-29T12:00:00Z", False),
        ("2026-04-29T11:59:59.999999Z", True),
        ("2026-05-01T12:00:00Z", False),
        ("2026-05-01T12:00:00.000001Z", True),
    ],
)
def test_a_deadline_more_than_a_day_off_sixty_days_is_a_mismatch(deadline_at, mismatch):
    row = process([review(deadline_at=deadline_at)], "2026-03-02T00:00:00")
    assert row["deadline_mismatch"] is mismatch


def test_an_aci_deadline_is_measured_against_thirty_days():
    assert process([aci()], "2026-03-02T00:00:00")["deadline_mismatch"] is False
    row = process([aci(deadline_at="2026-04-30T12:00:00Z")], "2026-03-02T00:00:00")
    assert row["deadline_mismatch"] is True


@pytest.mark.parametrize(
    ("created_at", "disagrees"),
    [
        ("2026-03-31T10:59:59.999999Z", True),  # an hour later it is still PENDING
        ("2026-03-31T11:00:00Z", False),  # an hour later it is OVERDUE
        ("2026-03-31T14:00:00Z", False),
    ],
)
def test_a_report_disagrees_when_no_clock_within_an_hour_says_so(created_at, disagrees):
    history = [review("e1"), review("e2", created_at, status="OVERDUE")]
    assert process(history, "2026-04-01T00:00:00")["status_disagrees"] is disagrees


@pytest.mark.parametrize(
    ("created_at", "disagrees"),
    [
        ("2026-03-31T12:59:59.999999Z", False),  # an hour before it was PENDING
        ("2026-03-31T13:00:00Z", True),  # an hour before it was OVERDUE already
    ],
)
def test_a_milder_report_is_forgiven_for_an_hour(created_at, disagrees):
    history = [review("e1"), review("e2", created_at, status="PENDING")]
    assert process(history, "2026-04-01T00:00:00")["status_disagrees"] is disagrees


# Lists of processes


def test_the_watchlist_holds_overdue_and_expired_worst_first():
    history = [
        review("e1", process_id="pending"),
        aci("e2", process_id="due later", deadline_at="2026-04-30T00:00:00Z"),
        aci("e3", process_id="due sooner"),
        aci("e4", process_id="late", deadline_at="2026-03-02T00:00:00Z"),
        aci("e5", process_id="reported", deadline_at="2026-05-01T00:00:00Z", status="EXPIRED"),
    ]
    as_of = at("2026-03-03T00:00:00")
    watched = oracle.rows("watchlist", history, as_of)
    assert [row["process_id"] for row in watched] == ["late", "reported", "due sooner", "due later"]
    expired = oracle.rows("expired_processes", history, as_of)
    assert [row["process_id"] for row in expired] == ["late", "reported"]


def test_the_calendar_counts_unfinished_processes_by_utc_day_of_deadline():
    history = [
        review("e1", process_id="p1", deadline_at="2026-04-30T23:59:59.999999Z"),
        aci("e2", process_id="p2", deadline_at="2026-04-30T22:00:00-03:00"),
        aci("e3", process_id="p3", deadline_at="2026-03-02T00:00:00Z", type="SOMETHING_NEW"),
        review("e4", process_id="p4", status="FINISHED"),
    ]
    assert oracle.rows("deadline_calendar", history, at("2026-03-10T00:00:00")) == [
        {"day": date(2026, 3, 2), "due": 1, "due_acp": 0, "due_aci": 0},
        {"day": date(2026, 4, 30), "due": 1, "due_acp": 1, "due_aci": 0},
        {"day": date(2026, 5, 1), "due": 1, "due_acp": 0, "due_aci": 1},
    ]


def test_state_daily_shows_each_day_as_it_stood_at_its_last_microsecond():
    history = [
        aci(occurred_at="2026-03-02T00:00:00Z", deadline_at="2026-03-03T00:00:00Z"),
        started(process_id="p9"),
        finished(process_id="p9"),
    ]
    rows = oracle.rows("state_daily", history, at("2026-03-03T00:00:00"))
    assert rows == [
        {"day": date(2026, 3, 1), "pending": 0, "overdue": 0, "expired": 0, "finished": 0},
        {"day": date(2026, 3, 2), "pending": 0, "overdue": 1, "expired": 0, "finished": 0},
        {"day": date(2026, 3, 3), "pending": 0, "overdue": 0, "expired": 1, "finished": 0},
    ]
    assert oracle.rows("state_daily", history, at("2026-03-01T23:59:59.999999")) == []


# Attempts


@pytest.mark.parametrize(
    ("status", "error", "outcome"),
    [
        (200, None, "accepted"),
        (400, None, "invalid_payload"),
        (401, None, "unauthorized"),
        (404, None, "not_found"),
        (409, None, "conflict"),
        (429, None, "rate_limited"),
        (500, None, "platform_error"),
        (599, None, "platform_error"),
        (600, None, "unexpected_status"),
        (201, None, "unexpected_status"),
        (302, None, "unexpected_status"),
        (499, None, "unexpected_status"),
        (None, "timeout", "timeout"),
        (None, "network_error", "network_error"),
        (None, "refused", "refused"),
        (None, None, "unknown"),
    ],
)
def test_every_answer_has_its_outcome(status, error, outcome):
    history = [started(), finished(status=status, error=error)]
    [row] = oracle.rows("submission_attempts", history, at("2026-03-02T00:00:01"))
    assert (row["outcome"], row["status"], row["error"]) == (outcome, status, error)


@pytest.mark.parametrize(
    ("timeout", "as_of", "outcome"),
    [
        ({}, "2026-03-02T00:00:59.999999", "in_flight"),
        ({}, "2026-03-02T00:01:00", "unknown"),
        ({"timeout_seconds": 5}, "2026-03-02T00:00:04.999999", "in_flight"),
        ({"timeout_seconds": 5}, "2026-03-02T00:00:05", "unknown"),
        ({"timeout_seconds": 0.5}, "2026-03-02T00:00:00.500000", "unknown"),
    ],
)
def test_an_unfinished_attempt_is_in_flight_until_its_timeout_is_over(timeout, as_of, outcome):
    [row] = oracle.rows("submission_attempts", [started(**timeout)], at(as_of))
    assert row["outcome"] == outcome


def test_an_attempt_came_in_by_what_its_live_start_says_or_by_a_file():
    live = {"origin": "live", "via": "gateway"}
    history = [started("a1"), started("a2", **live), finished("a3"), started("a1", **live)]
    rows = oracle.rows("submission_attempts", history, at("2026-03-02T00:00:01"))
    assert {row["attempt_id"]: row["via"] for row in rows} == {
        "a1": "gateway",
        "a2": "gateway",
        "a3": None,
    }
    [row] = oracle.rows("submission_attempts", history[:1], at("2026-03-02T00:00:01"))
    assert row["via"] == "ingested"


def test_a_finish_without_a_start_is_an_attempt_ordered_by_its_finish():
    history = [
        review(),
        finished("a1", 500, "2026-03-02T00:00:02Z"),
        started("a2", "2026-03-02T00:00:01Z"),
        finished("a2", 400, "2026-03-02T00:00:09Z"),
    ]
    row = process(history, "2026-03-03T00:00:00")
    assert (row["attempts"], row["last_outcome"]) == (2, "platform_error")
    assert row["last_attempt_at"] == at("2026-03-02T00:00:02")


def test_one_attempt_told_twice_counts_from_the_earliest_telling():
    history = [
        started(),
        finished("a1", 500, "2026-03-02T00:00:02Z"),
        finished("a1", 200, "2026-03-02T00:00:01Z"),
        started(occurred_at="2026-03-02T00:00:00.000001Z", body={"other": 1}),
    ]
    [row] = oracle.rows("submission_attempts", history, at("2026-03-03T00:00:00"))
    assert (row["started_at"], row["finished_at"], row["outcome"]) == (
        at("2026-03-02T00:00:00"),
        at("2026-03-02T00:00:01"),
        "accepted",
    )


def test_a_refusal_is_shown_but_in_no_count():
    refused_at = "2026-03-02T00:00:00Z"
    history = [review(), started(), finished("a1", None, refused_at, error="refused")]
    assert len(oracle.rows("submission_attempts", history, at("2026-03-03T00:00:00"))) == 1
    row = process(history, "2026-03-03T00:00:00")
    assert (row["attempts"], row["last_outcome"], row["last_attempt_at"]) == (0, None, None)
    assert oracle.rows("submission_outcomes", history, at("2026-03-03T00:00:00")) == []
    assert oracle.rows("submission_retries", history, at("2026-03-03T00:00:00")) == [
        {
            "processes": 0,
            "first_try_accepted": 0,
            "first_try_acceptance": None,
            "with_failure": 0,
            "accepted_after_failure": 0,
            "success_after_retry": None,
        }
    ]
    assert found(history, "2026-03-03T00:00:00", "field_without_evidence") == []


def test_acceptance_is_measured_per_process():
    def attempts(process_id: str, *statuses: int) -> list[dict]:
        lines = []
        for number, status in enumerate(statuses):
            name = {"attempt_id": f"{process_id}-{number}", "process_id": process_id}
            lines += [
                started(**name, occurred_at=f"2026-03-02T00:0{number}:00Z"),
                finished(**name, status=status, occurred_at=f"2026-03-02T00:0{number}:01Z"),
            ]
        return lines

    history = [
        *attempts("at once", 200),
        *attempts("on retry", 500, 200),
        *attempts("never", 400, 401),
        *attempts("then again", 200, 409),
        started("open", "2026-03-02T23:59:30Z", process_id="in flight"),
    ]
    assert oracle.rows("submission_retries", history, at("2026-03-02T23:59:59.999999")) == [
        {
            "processes": 5,
            "first_try_accepted": 2,
            "first_try_acceptance": 0.4,
            "with_failure": 3,
            "accepted_after_failure": 1,
            "success_after_retry": 1 / 3,
        }
    ]
    assert oracle.rows("submission_outcomes", history, at("2026-03-02T23:59:59.999999")) == [
        {"day": date(2026, 3, 2), "outcome": "accepted", "attempts": 3},
        {"day": date(2026, 3, 2), "outcome": "conflict", "attempts": 1},
        {"day": date(2026, 3, 2), "outcome": "in_flight", "attempts": 1},
        {"day": date(2026, 3, 2), "outcome": "invalid_payload", "attempts": 1},
        {"day": date(2026, 3, 2), "outcome": "platform_error", "attempts": 1},
        {"day": date(2026, 3, 2), "outcome": "unauthorized", "attempts": 1},
    ]


# Sellers and denials


def test_seller_created_never_replaces_another_status():
    history = [
        seller_event("enabled", "e1", "2026-03-01T12:00:00Z"),
        seller_event("created", "e2", "2026-03-01T12:05:00Z"),
        seller_event("updated", "e3", "2026-03-01T12:10:00Z", mcc="5411", status="denied"),
    ]
    [row] = oracle.rows("seller_state", history, at("2026-03-02T00:00:00"))
    assert (row["status"], row["mcc"], row["analysis_seconds"]) == ("enabled", "5411", -300.0)
    [row] = oracle.rows("seller_state", history[1:], at("2026-03-02T00:00:00"))
    assert (row["status"], row["analysis_seconds"]) == ("pending_analysis", None)
    [row] = oracle.rows("seller_state", history[2:], at("2026-03-02T00:00:00"))
    assert row["status"] == "denied"


def test_the_latest_status_event_wins_and_each_field_comes_from_the_latest_that_carries_it():
    history = [
        seller_event("deleted", "e2", "2026-03-03T12:00:00Z", mcc=None),
        seller_event("disabled", "e1", "2026-03-02T12:00:00Z", mcc="7995", is_mobile=False),
    ]
    [row] = oracle.rows("seller_state", history, at("2026-03-02T00:00:00"))
    assert (row["status"], row["mcc"], row["is_mobile"]) == ("deleted", "7995", False)


def test_a_seller_is_seen_in_a_review_an_attempt_a_collection_or_a_bank_account():
    history = [
        review(customer_id="s1"),
        started(process_id="p2", seller_id="s2"),
        collection(process_id="p3", seller_id="s3"),
        webhook({"id": "b1", "type": "bank_account.associated", "payload": {"customer_id": "s4"}}),
        webhook({"id": "b2", "type": "bank_account.deleted", "payload": {"object": {"x": 1}}}),
    ]
    rows = oracle.rows("seller_state", history, at("2026-03-03T00:00:00"))
    assert [(row["seller_id"], row["status"], row["open_processes"]) for row in rows] == [
        ("s1", "unknown", 1),
        ("s2", "unknown", 0),
        ("s3", "unknown", 0),
        ("s4", "unknown", 0),
    ]
    accounts = oracle.rows("bank_accounts", history, at("2026-03-03T00:00:00"))
    assert [(row["event_id"], row["seller_id"]) for row in accounts] == [("b1", "s4"), ("b2", None)]


def test_a_seller_event_without_a_record_counts_in_deliveries_alone():
    body = {"id": "e1", "type": "seller.denied", "payload": {"object": {"retry": True}}}
    history = [webhook(body)]
    as_of = at("2026-03-02T00:00:00")
    assert len(oracle.rows("deliveries", history, as_of)) == 1
    assert oracle.rows("seller_state", history, as_of) == []
    assert oracle.rows("denials", history, as_of) == []
    assert found(history, "2026-03-02T00:00:00", "new_code") == [
        ("new_code", "notice", 1, at("2026-03-01T12:00:00"))
    ]


def test_a_record_may_be_the_payload_itself():
    body = {"id": "e1", "type": "seller.enabled", "payload": {"id": "s7", "mcc": "5411"}}
    [row] = oracle.rows("seller_state", [webhook(body)], at("2026-03-02T00:00:00"))
    assert (row["seller_id"], row["status"], row["mcc"]) == ("s7", "enabled", "5411")


def test_onboarding_analysis_counts_180_seconds_as_kept():
    history = [
        seller_event("created", "c1", "2026-03-01T23:58:00Z", "s1"),
        seller_event("enabled", "d1", "2026-03-02T00:01:00Z", "s1"),
        seller_event("created", "c2", "2026-03-02T00:00:00Z", "s2"),
        seller_event("denied", "d2", "2026-03-02T00:03:00.000001Z", "s2"),
        seller_event("created", "c3", "2026-03-02T00:00:00Z", "s3"),
    ]
    assert oracle.rows("onboarding_analysis", history, at("2026-03-03T00:00:00")) == [
        {
            "day": date(2026, 3, 2),
            "analysed": 2,
            "within_180_s": 1,
            "share": 0.5,
            "p99_seconds": 180.000001,
        }
    ]


def test_a_denial_lists_its_distinct_reasons_and_no_empty_detail():
    history = [
        seller_event(
            "denied",
            "e1",
            retry=True,
            decision_reasons=[
                {"reason": "INTERNAL_KYC_POLICY", "detail": ""},
                {"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"},
                {"reason": "INTERNAL_KYC_POLICY"},
                {"reason": "DOCUMENT_VALIDATION", "detail": None},
                {"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"},
            ],
        )
    ]
    assert oracle.rows("denials", history, at("2026-03-02T00:00:00")) == [
        {
            "event_id": "e1",
            "seller_id": "s1",
            "denied_at": at("2026-03-01T12:00:00"),
            "retry": True,
            "reasons": [
                {"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"},
                {"reason": "DOCUMENT_VALIDATION", "detail": None},
                {"reason": "INTERNAL_KYC_POLICY", "detail": None},
            ],
        }
    ]


def test_a_denial_with_two_reasons_counts_in_each_and_a_share_leaves_out_denials_without_retry():
    quality = {"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"}
    policy = {"reason": "INTERNAL_KYC_POLICY"}
    history = [
        seller_event("denied", "e1", retry=True, decision_reasons=[quality, policy, quality]),
        seller_event("denied", "e2", seller_id="s2", retry=False, decision_reasons=[quality]),
        seller_event("denied", "e3", seller_id="s3", decision_reasons=[quality]),
        seller_event("denied", "e4", seller_id="s4", retry="yes", decision_reasons=[]),
    ]
    assert oracle.rows("denial_reasons", history, at("2026-03-02T00:00:00")) == [
        {
            "reason": "DOCUMENT_VALIDATION",
            "detail": "DOCUMENT_QUALITY",
            "denials": 3,
            "retryable": 1,
            "retryable_share": 0.5,
        },
        {
            "reason": "INTERNAL_KYC_POLICY",
            "detail": None,
            "denials": 1,
            "retryable": 1,
            "retryable_share": 1.0,
        },
    ]


def test_a_denied_seller_is_re_onboarded_by_taxpayer_digits_and_wasted_when_told_not_to_retry():
    denied = {"taxpayer_id": "123.456.789-09", "retry": False}
    history = [
        seller_event("denied", "e1", "2026-03-01T12:00:00Z", "s1", **denied),
        seller_event("denied", "e2", "2026-03-01T12:00:00Z", "s2", taxpayer_id="999", retry=True),
        seller_event("denied", "e3", "2026-03-01T12:00:00Z", "s3", retry=None),
        seller_event("enabled", "e4", "2026-03-03T12:00:00Z", "s4", taxpayer_id="12345678909"),
    ]
    history[3]["body"]["payload"]["object"]["created_at"] = "2026-03-01T12:00:00.000001Z"
    assert oracle.rows("denial_retries", history, at("2026-03-05T00:00:00")) == [
        {
            "denied_sellers": 3,
            "retryable_share": 0.5,
            "reonboarded": 1,
            "reonboarding_rate": 0.5,
            "cured": 1,
            "cure_rate": 1.0,
            "wasted_retries": 1,
        }
    ]
    history[3]["body"]["payload"]["object"]["created_at"] = "2026-03-01T12:00:00Z"
    [row] = oracle.rows("denial_retries", history, at("2026-03-05T00:00:00"))
    assert (row["reonboarded"], row["reonboarding_rate"], row["cure_rate"]) == (0, 0.0, None)
    del history[3]["body"]["payload"]["object"]["created_at"]
    [row] = oracle.rows("denial_retries", history, at("2026-03-05T00:00:00"))
    assert (row["reonboarded"], row["wasted_retries"]) == (1, 1)


def test_a_retry_is_wasted_by_the_latest_denial_before_the_first_new_seller():
    def denied(event_id: str, created_at: str, retry: bool) -> dict:
        return seller_event("denied", event_id, created_at, "s1", taxpayer_id="1", retry=retry)

    history = [
        denied("e1", "2026-03-01T12:00:00Z", True),
        denied("e2", "2026-03-02T12:00:00Z", False),
        seller_event("created", "e3", "2026-03-02T12:00:00.000001Z", "s2", taxpayer_id="1"),
        denied("e4", "2026-03-04T12:00:00Z", True),
        seller_event("created", "e5", "2026-03-05T12:00:00Z", "s3", taxpayer_id="1"),
    ]
    [row] = oracle.rows("denial_retries", history, at("2026-03-06T00:00:00"))
    assert (row["reonboarded"], row["cured"], row["wasted_retries"]) == (1, 0, 1)
    history[2]["body"]["created_at"] = "2026-03-02T12:00:00Z"
    [row] = oracle.rows("denial_retries", history, at("2026-03-06T00:00:00"))
    assert row["wasted_retries"] == 0


def test_without_denials_every_share_is_null():
    assert oracle.rows("denial_retries", [], at("2026-03-05T00:00:00")) == [
        {
            "denied_sellers": 0,
            "retryable_share": None,
            "reonboarded": 0,
            "reonboarding_rate": None,
            "cured": 0,
            "cure_rate": None,
            "wasted_retries": 0,
        }
    ]


# Evidence


def coverage(history: list[dict], as_of: str = "2026-03-03T00:00:00") -> dict:
    return {
        row["path"]: (row["requested"], row["covered"])
        for row in oracle.rows("evidence_coverage", history, at(as_of))
    }


def test_a_leaf_answered_by_the_seller_with_the_value_sent_is_covered():
    history = [aci(), collection(), started(), finished()]
    [row] = oracle.rows("evidence_coverage", history, at("2026-03-03T00:00:00"))
    assert row == {
        "process_id": "p1",
        "path": "revenue",
        "requested": True,
        "answered_at": at("2026-03-01T18:00:00"),
        "sent_at": at("2026-03-02T00:00:00"),
        "covered": True,
    }
    assert coverage(history[:2]) == {"revenue": (True, None)}


@pytest.mark.parametrize(
    ("answers", "rule"),
    [
        ([{}], None),
        ([{"occurred_at": "2026-03-02T00:00:00Z"}], None),
        ([{"occurred_at": "2026-03-01T12:00:00Z"}], None),
        ([], "field_without_evidence"),
        ([{"step": "confirmed"}], "field_without_evidence"),
        ([{"process_id": "p2"}], "field_without_evidence"),
        ([{"fields": {"revenue": 1000}}], "field_without_evidence"),
        ([{"occurred_at": "2026-03-02T00:00:00.000001Z"}], "field_without_evidence"),
        ([{"source": "bureau"}], "source_not_seller"),
        ([{"occurred_at": "2026-03-01T11:59:59.999999Z"}], "evidence_before_request"),
        (
            [{"occurred_at": "2026-03-01T11:00:00Z", "source": "bureau"}],
            "source_not_seller",
        ),
        (
            [{}, {"occurred_at": "2026-03-01T19:00:00Z", "fields": {"revenue": "1_to_2"}}],
            "field_without_evidence",
        ),
        (
            [
                {"source": "bureau"},
                {"occurred_at": "2026-03-01T19:00:00Z", "fields": {"revenue": "1_to_2"}},
            ],
            "source_not_seller",
        ),
        (
            [
                {"occurred_at": "2026-03-01T11:00:00Z"},
                {"occurred_at": "2026-03-01T19:00:00Z", "fields": {"revenue": "1_to_2"}},
            ],
            "evidence_before_request",
        ),
        ([{}, {"occurred_at": "2026-03-01T19:00:00Z", "source": "bureau"}], "source_not_seller"),
        ([{"source": "bureau"}, {"occurred_at": "2026-03-01T19:00:00Z"}], None),
    ],
)
def test_a_leaf_is_covered_or_breaks_exactly_one_of_three_rules(answers, rule):
    three = ("field_without_evidence", "source_not_seller", "evidence_before_request")
    history = [aci(), *(collection(**answer) for answer in answers), started(), finished()]
    start_seq = len(answers) + 2
    expected = [(rule, "breach", start_seq, at("2026-03-02T00:00:00"))] if rule else []
    assert found(history, "2026-03-03T00:00:00", *three) == expected
    [covered] = [
        row["covered"]
        for row in oracle.rows("evidence_coverage", history, at("2026-03-03T00:00:00"))
        if (row["process_id"], row["path"]) == ("p1", "revenue")
    ]
    assert covered is (rule is None)


def test_objects_in_answers_and_payloads_are_flattened_to_leaves():
    history = [
        aci(requested_fields=["address"]),
        collection(fields={"address": {"city": "Recife"}, "address.state": "PE"}),
        started(body={"process_id": "p1", "address": {"city": "Recife", "state": "SP"}}),
    ]
    assert coverage(history) == {
        "address.city": (True, True),
        "address.country_code": (True, None),
        "address.line1": (True, None),
        "address.line3": (True, None),
        "address.postal_code": (True, None),
        "address.state": (True, False),
    }


def test_evidence_is_late_when_recorded_after_the_start_or_a_day_after_it_happened():
    def recorded(recorded_at: str) -> list[dict]:
        return [aci(), collection(recorded_at=recorded_at), started(occurred_at=start)]

    start = "2026-03-05T00:00:00Z"
    late = "evidence_recorded_late"
    assert found(recorded("2026-03-02T18:00:00Z"), "2026-03-06T00:00:00", late) == []
    assert found(recorded("2026-03-02T18:00:00.000001Z"), "2026-03-06T00:00:00", late) == [
        (late, "risk", 2, at("2026-03-05T00:00:00"))
    ]
    start = "2026-03-02T00:00:00Z"
    assert found(recorded("2026-03-02T00:00:00Z"), "2026-03-06T00:00:00", late) == []
    assert found(recorded("2026-03-02T00:00:00.000001Z"), "2026-03-06T00:00:00", late) == [
        (late, "risk", 2, at("2026-03-02T00:00:00.000001"))
    ]


def test_a_journey_in_two_processes_is_a_breach_and_an_artifact_a_risk():
    screen = [{"name": "screen.png", "media_type": "image/png", "sha256": "ab" * 32}]
    history = [
        collection(artifacts=screen),
        collection("2026-03-01T19:00:00Z", process_id="p2", step="invited", artifacts=screen),
        collection("2026-03-01T20:00:00Z", process_id="p3", journey_id="j3", artifacts=screen),
    ]
    assert found(history, "2026-03-03T00:00:00", "evidence_reused") == [
        ("evidence_reused", "breach", 2, at("2026-03-01T19:00:00")),
        ("evidence_reused", "risk", 3, at("2026-03-01T20:00:00")),
    ]


# Findings


def test_expired_is_found_at_the_earlier_of_the_deadline_and_the_first_report():
    assert found([aci()], "2026-03-31T11:59:59.999999", "expired_unfinished") == []
    assert found([aci()], "2026-03-31T12:00:00", "expired_unfinished") == [
        ("expired_unfinished", "breach", 1, at("2026-03-31T12:00:00"))
    ]
    reported = [aci(), aci("e2", created_at="2026-03-10T12:00:00Z", status="EXPIRED")]
    assert found(reported, "2026-04-10T00:00:00", "expired_unfinished") == [
        ("expired_unfinished", "breach", 2, at("2026-03-10T12:00:00"))
    ]


def test_finished_elsewhere_is_cleared_by_a_200_of_ours():
    history = [
        aci(),
        aci("e2", created_at="2026-03-01T13:00:00Z", status="FINISHED"),
        started(),
        finished(),
    ]
    assert found(history[:2], "2026-03-03T00:00:00", "finished_elsewhere") == [
        ("finished_elsewhere", "breach", 2, at("2026-03-01T13:00:00"))
    ]
    assert found(history, "2026-03-03T00:00:00", "finished_elsewhere") == []


def test_overdue_for_a_day_without_an_opened_journey_is_a_risk():
    history = [aci(), collection(step="invited")]
    rule = "overdue_unstarted"
    assert found(history, "2026-03-02T11:59:59.999999", rule) == []
    assert found(history, "2026-03-02T12:00:00", rule) == [
        (rule, "risk", 1, at("2026-03-02T12:00:00"))
    ]
    assert found([*history, collection(step="opened")], "2026-03-02T12:00:00", rule) == []
    assert found([review()], "2026-04-01T11:59:59.999999", rule) == []
    assert found([review()], "2026-04-01T12:00:00", rule) == [
        (rule, "risk", 1, at("2026-04-01T12:00:00"))
    ]


def test_values_of_an_earlier_review_sent_again_are_a_risk():
    again = {"attempt_id": "a2", "process_id": "p2"}
    body = {"process_id": "p2", "type": "individual", "revenue": "1000_to_5000"}
    history = [
        started(),
        finished(status=500),
        started(**again, occurred_at="2026-03-02T01:00:00Z", body=body),
        finished(**again, occurred_at="2026-03-02T01:00:01Z"),
    ]
    assert found(history, "2026-03-03T00:00:00", "values_reused") == [
        ("values_reused", "risk", 3, at("2026-03-02T01:00:01"))
    ]
    history[2]["body"]["address"] = {"city": "Recife"}
    assert found(history, "2026-03-03T00:00:00", "values_reused") == []


def test_a_retry_and_an_attempt_at_the_same_instant_reuse_no_values():
    retried = [
        started(),
        finished(status=500),
        started("a2", "2026-03-02T01:00:00Z"),
        finished("a2", 200, "2026-03-02T01:00:01Z"),
    ]
    assert found(retried, "2026-03-03T00:00:00", "values_reused") == []
    together = [started(), started("a2", process_id="p2"), finished("a2", process_id="p2")]
    assert found(together, "2026-03-03T00:00:00", "values_reused") == []


FULL = {
    "line1": "Rua A, 1",
    "line3": "Centro",
    "city": "Recife",
    "state": "PE",
    "postal_code": "50000000",
    "country_code": "BR",
}
INDIVIDUAL = {
    "process_id": "p1",
    "type": "individual",
    "revenue": "1000_to_5000",
    "address": FULL,
}


@pytest.mark.parametrize(
    ("body", "requested", "incomplete"),
    [
        (INDIVIDUAL, ["revenue"], False),
        (INDIVIDUAL, ["address.line2"], False),
        (INDIVIDUAL, ["documents.selfie"], True),
        ({**INDIVIDUAL, "documents": {"selfie": None}}, ["documents.selfie"], False),
        ({**INDIVIDUAL, "address": {**FULL, "line3": None}}, [], True),
        ({**INDIVIDUAL, "type": "business"}, [], True),
        (
            {**INDIVIDUAL, "type": "business", "owner": {"revenue": "1_to_2", "address": FULL}},
            [],
            False,
        ),
        ({"process_id": "p1", "type": "individual", "revenue": "1_to_2"}, [], True),
    ],
)
def test_an_acp_needs_every_foreseen_and_requested_field(body, requested, incomplete):
    history = [review(requested_fields=requested), started(body=body)]
    assert len(found(history, "2026-03-03T00:00:00", "acp_incomplete")) == int(incomplete)


@pytest.mark.parametrize(
    ("requested", "extra"),
    [
        (["revenue", "address"], False),
        (["revenue", "address.city"], True),
        (["revenue"], True),
        ([], True),
    ],
)
def test_an_aci_takes_only_what_a_requested_path_covers(requested, extra):
    history = [aci(requested_fields=requested), started(body=INDIVIDUAL)]
    assert len(found(history, "2026-03-03T00:00:00", "aci_extra_field")) == int(extra)


def test_a_payload_is_judged_by_the_latest_event_received_by_the_start():
    history = [
        aci(requested_fields=["revenue", "address"]),
        aci(
            "e2",
            created_at="2026-03-01T13:00:00Z",
            occurred_at="2026-03-02T00:00:00.000001Z",
            requested_fields=["revenue"],
        ),
        started(body=INDIVIDUAL),
    ]
    assert found(history, "2026-03-03T00:00:00", "aci_extra_field") == []
    history[1]["occurred_at"] = "2026-03-02T00:00:00Z"
    assert len(found(history, "2026-03-03T00:00:00", "aci_extra_field")) == 1


def test_other_bytes_after_a_retryable_outcome_need_a_replacement():
    other = {"process_id": "p1", "type": "individual", "revenue": "5000_to_9000"}
    history = [
        started(),
        finished(status=500),
        started("a2", "2026-03-02T01:00:00Z", body=other),
    ]
    replacement = {
        "kind": "replacement",
        "occurred_at": "2026-03-02T00:30:00Z",
        "process_id": "p1",
        "reason": "typo",
        "actor": "ana",
    }
    rule = "payload_changed_on_retry"
    assert found(history, "2026-03-03T00:00:00", rule) == [
        (rule, "risk", 3, at("2026-03-02T01:00:00"))
    ]
    for replaced_at in ("2026-03-02T00:00:00Z", "2026-03-02T01:00:00Z"):
        replaced = [*history, {**replacement, "occurred_at": replaced_at}]
        assert found(replaced, "2026-03-03T00:00:00", rule) == []
    for unrelated in ({"process_id": "p2"}, {"occurred_at": "2026-03-02T01:00:00.000001Z"}):
        assert found([*history, {**replacement, **unrelated}], "2026-03-03T00:00:00", rule) != []
    history[1] = finished(status=400)
    assert found(history, "2026-03-03T00:00:00", rule) == []


def test_a_try_is_given_up_after_24_hours():
    history = [review(), started(), finished(status=503)]
    rule = "retries_exhausted"
    assert found(history, "2026-03-02T23:59:59.999999", rule) == []
    assert found(history, "2026-03-03T00:00:00", rule) == [
        (rule, "risk", 3, at("2026-03-03T00:00:00"))
    ]
    ended = [*history, review("e2", "2026-03-02T12:00:00Z", status="FINISHED")]
    assert found(ended, "2026-03-04T00:00:00", rule) == []
    refused_for_good = [review(), started(), finished(status=400)]
    assert found(refused_for_good, "2026-03-04T00:00:00", rule) == []


def test_a_try_is_given_up_after_30_attempts():
    history = []
    for number in range(30):
        name = f"a{number:02}"
        history.append(started(name, f"2026-03-02T00:{number:02}:00Z"))
        history.append(finished(name, 500, f"2026-03-02T00:{number:02}:01Z"))
    rule = "retries_exhausted"
    assert found(history, "2026-03-02T00:29:00.999999", rule) == []
    assert found(history, "2026-03-02T00:29:01", rule) == [
        (rule, "risk", 60, at("2026-03-02T00:29:01"))
    ]


def test_a_401_is_one_finding_until_a_later_200_on_any_process():
    history = [
        started(),
        finished(status=401),
        started("a2", "2026-03-02T01:00:00Z", process_id="p2"),
        finished("a2", 401, "2026-03-02T01:00:01Z", process_id="p2"),
        started("a3", "2026-03-02T02:00:00Z", process_id="p3"),
        finished("a3", 200, "2026-03-02T02:00:01Z", process_id="p3"),
    ]
    assert found(history, "2026-03-02T02:00:00", "unauthorized") == [
        ("unauthorized", "risk", 2, at("2026-03-02T00:00:01"))
    ]
    assert found(history, "2026-03-02T02:00:01", "unauthorized") == []


def test_a_200_at_the_instant_of_a_401_is_not_later():
    history = [started(), finished(status=401), started("a2"), finished("a2", 200)]
    assert len(found(history, "2026-03-03T00:00:00", "unauthorized")) == 1


@pytest.mark.parametrize(("status", "unknown"), [(409, True), (500, False), (None, True)])
def test_an_outcome_is_unknown_after_a_conflict_or_no_answer(status, unknown):
    history = [review(), started()] + ([finished(status=status)] if status else [])
    assert len(found(history, "2026-03-02T00:01:00", "outcome_unknown")) == int(unknown)


def test_a_live_delivery_recorded_over_five_seconds_after_receipt_is_slow():
    def delivered(recorded_at: str, origin: str) -> list[dict]:
        return [{**review(), "recorded_at": recorded_at, "origin": origin}]

    as_of = "2026-03-02T00:00:00"
    assert found(delivered("2026-03-01T12:00:05Z", "live"), as_of, "slow_record") == []
    assert found(delivered("2026-03-01T12:00:05.000001Z", "live"), as_of, "slow_record") == [
        ("slow_record", "notice", 1, at("2026-03-01T12:00:05.000001"))
    ]
    assert found(delivered("2026-03-09T00:00:00Z", "ingested"), as_of, "slow_record") == []


def test_no_entry_is_back_dated():
    history = [
        {**review("e1", occurred_at="2026-03-01T12:00:06Z"), "origin": "live"},
        {**review("e2"), "origin": "live"},
    ]
    assert found(history, "2026-03-02T00:00:00", "slow_record") == [
        ("slow_record", "notice", 2, at("2026-03-01T12:00:06"))
    ]


def test_each_unlisted_code_is_found_once_from_its_first_entry():
    history = [
        review("e1", occurred_at="2026-03-01T13:00:00Z", type="NEW", status="NEW"),
        review("e2", type="NEW", requested_fields=["revenue", "pet.name", "owner.address.line2"]),
        webhook({"id": "e3", "type": "seller.paused", "payload": {"object": {"id": "s9"}}}),
        webhook({"type": "bank_account.deleted", "payload": {"customer_id": "s5"}}),
        webhook({"id": 7, "type": "bank_account.deleted"}, "2026-03-01T12:30:00Z"),
        seller_event(
            "denied", "e4", decision_reasons=[{"reason": "NEW", "detail": "DOCUMENT_QUALITY"}]
        ),
    ]
    rows = [
        (row["detail"], row["seq"], row["process_id"], row["seller_id"])
        for row in oracle.rows("findings", history, at("2026-03-02T00:00:00"))
        if row["rule"] == "new_code"
    ]
    assert sorted(rows) == [
        ("event type: seller.paused", 3, None, None),
        ("event without id: bank_account.deleted", 4, None, "s5"),
        ("reason: NEW", 6, None, "s1"),
        ("requested path: pet.name", 2, "p1", "s1"),
        ("review status: NEW", 1, "p1", "s1"),
        ("review type: NEW", 2, "p1", "s1"),
    ]


def test_an_override_is_a_notice():
    line = {
        "kind": "override",
        "occurred_at": "2026-03-02T00:00:00Z",
        "process_id": "p1",
        "attempt_id": "a1",
        "gates": ["evidence"],
        "reason": "seller on the phone",
        "actor": "ana",
    }
    assert found([review(), line], "2026-03-03T00:00:00", "override") == [
        ("override", "notice", 2, at("2026-03-02T00:00:00"))
    ]
    [row] = oracle.rows("findings", [line], at("2026-03-03T00:00:00"))
    assert (row["rule"], row["process_id"], row["seller_id"]) == ("override", "p1", None)


# Invariance


COUNTS_OF_DELIVERIES = ("deliveries", "redeliveries", "quarantine")
STATE_VIEWS = [view for view in oracle.VIEWS if view not in COUNTS_OF_DELIVERIES]
RECORDED = ("seq", "recorded_at")
DERIVED_FROM_RECORDING = ("slow_record", "evidence_recorded_late", "quarantined")


def settled(view: str, history: list[dict], as_of: datetime) -> list[str]:
    """The rows without what derives from seq and recorded_at, in an order of their own."""
    return sorted(
        repr({key: value for key, value in row.items() if key not in RECORDED})
        for row in oracle.rows(view, history, as_of)
        if row.get("rule") not in DERIVED_FROM_RECORDING
    )


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_the_order_of_recording_and_repetition_change_no_state(data):
    history, as_of = data.draw(histories.histories_and_as_of())
    other = data.draw(
        histories.repeated(history).flatmap(histories.reordered), label="the same, again"
    )
    for view in STATE_VIEWS:
        assert settled(view, other, as_of) == settled(view, history, as_of)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(histories.histories_and_as_of())
def test_the_lists_of_processes_agree_with_each_other(history_and_as_of):
    history, as_of = history_and_as_of
    states = [row["state"] for row in oracle.rows("process_state", history, as_of)]
    count = {state: states.count(state) for state in ("PENDING", "OVERDUE", "EXPIRED", "FINISHED")}
    assert len(oracle.rows("watchlist", history, as_of)) == count["OVERDUE"] + count["EXPIRED"]
    assert len(oracle.rows("expired_processes", history, as_of)) == count["EXPIRED"]
    due = sum(row["due"] for row in oracle.rows("deadline_calendar", history, as_of))
    assert due == count["PENDING"] + count["OVERDUE"] + count["EXPIRED"]
