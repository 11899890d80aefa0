"""Rules of deliveries and overrides, each with a history that breaks it and a near miss.

The expected rows are written out by hand: (severity, process, seller, seq, detail, found_at).
"""

import pytest

from tests.queries.findings.builders import NOON, found, notice, risk
from tests.support.ledgers import World, asked
from tests.support.lines import aci, acp, action, at, live, seller, webhook

WORLD = World()


ALTERED = acp(occurred_at="2026-03-01T13:00:00Z", requested_fields=["address"])


@WORLD.given(*[acp(), ALTERED], again=[acp(), acp(occurred_at="2026-03-01T13:00:00Z")])
def test_event_altered(history, again):
    assert found("event_altered", history, "2026-03-02T00:00:00") == [
        risk(2, "2026-03-01T13:00:00", "e1")
    ]
    assert found("event_altered", again, "2026-03-02T00:00:00") == []


@WORLD.given(
    acp(occurred_at="2026-03-01T13:00:00Z", process_id="p2", customer_id="s2"),
    acp(),
    acp(occurred_at="2026-03-01T14:00:00Z", process_id="p2", customer_id="s2"),
    seller("enabled", "e1", "2026-03-01T15:00:00Z", "s3"),
)
def test_each_version_but_the_first_is_altered_and_about_what_it_names_itself(history):
    assert found("event_altered", history, "2026-03-02T00:00:00") == [
        ("risk", None, "s3", 4, "e1", at("2026-03-01T15:00:00")),
        ("risk", "p2", "s2", 1, "e1", at("2026-03-01T13:00:00")),
    ]
    assert found("event_altered", history, "2026-03-01T12:59:59.999999") == []


@WORLD.given(
    seller("enabled", "e1", "2026-03-01T12:00:00Z", ein=52998224725.0),
    seller("enabled", "e2", "2026-03-01T12:00:00Z", taxpayer_id=-529982.0),
    seller("enabled", "e3", "2026-03-01T12:00:00Z", taxpayer_id=5.29982e30),
    seller("enabled", "e4", "2026-03-01T12:00:00Z", ein=529982),
)
def test_a_tax_id_that_came_as_any_number_is_masked(history):
    """Of a number with a point, a sign or an exponent all was shown that had less than eight digits
    in a row."""
    assert sorted(row[4] for row in found("unreadable_part", history, NOON)) == [
        "ein: ***.0",
        "ein: ***82",
        "taxpayer_id: ***.0",
        "taxpayer_id: ***30",
    ]


ODD = acp(requested_fields="revenue", deadline_at=None, occurred_at="2026-03-01T13:00:00Z")


@WORLD.given(
    *[ODD, {**ODD, "occurred_at": "2026-03-01T14:00:00Z"}],
    finish=[acp(requested_fields=None, deadline_at=None, status="FINISHED")],
)
def test_unreadable_part_of_a_review(history, finish):
    assert found("unreadable_part", history, "2026-03-02T00:00:00") == [
        risk(1, "2026-03-01T13:00:00", "deadline_at: missing"),
        risk(1, "2026-03-01T13:00:00", 'requested_fields: "revenue"'),
    ]
    assert found("unreadable_part", finish, "2026-03-02T00:00:00") == []


@WORLD.given(aci(requested_fields=[]), of_acp=[acp(requested_fields=[])])
def test_unreadable_part_of_an_inconsistency_that_lists_nothing(history, of_acp):
    assert found("unreadable_part", history, NOON) == [risk(1, NOON, "requested_fields: []")]
    assert found("unreadable_part", of_acp, NOON) == []


@WORLD.given(seller("denied", "v1", retry="true", decision_reasons={"reason": "X"}))
def test_unreadable_part_of_a_denial(history):
    assert found("unreadable_part", history, NOON) == [
        ("risk", None, "s1", 1, "decision_reasons: {***}", at(NOON)),
        ("risk", None, "s1", 1, 'retry: "true"', at(NOON)),
    ]


@WORLD.given(
    seller("denied", "v1", retry="true"),
    {**seller("denied", "v1", retry=True), "occurred_at": "2026-03-02T00:00:00Z"},
)
def test_what_a_later_version_says_better_is_unreadable_no_longer(history):
    assert len(found("unreadable_part", history, "2026-03-01T23:00:00")) == 1
    assert found("unreadable_part", history, "2026-03-02T00:00:00") == []


DELETED = seller("deleted", "v1", "2026-03-02T00:00:00Z")
LATER = "2026-03-02T00:00:00.000001Z"


@pytest.mark.parametrize(
    ("what", "later", "at_once"),
    [
        (
            what,
            WORLD.add(DELETED, seller(what, "v2", LATER)),
            WORLD.add(DELETED, seller(what, "v2", "2026-03-02T00:00:00Z")),
        )
        for what in ("created", "enabled", "denied", "disabled", "deleted")
    ],
)
def test_status_after_deletion(what, later, at_once):
    assert found("status_after_deletion", later, "2026-03-03T00:00:00") == [
        ("risk", None, "s1", 2, f"seller.{what}", at("2026-03-02T00:00:00.000001"))
    ]
    assert found("status_after_deletion", at_once, "2026-03-03T00:00:00") == []


@WORLD.given(DELETED, seller("updated", "v2", "2026-03-03T00:00:00Z"))
def test_an_update_after_deletion_is_not_a_status(history):
    assert found("status_after_deletion", history, "2026-03-04T00:00:00") == []


@WORLD.given(
    acp(),
    seller("deleted", "v1", "2026-03-02T00:00:00Z"),
    acp("e2", "2026-03-03T00:00:00Z", process_id="p2"),
    acp("e3", process_id="p3", status="FINISHED"),
    acp("e4", process_id="p4", customer_id="s2"),
)
def test_deleted_with_open(history):
    assert found("deleted_with_open", history, "2026-03-04T00:00:00") == [
        risk(3, "2026-03-03T00:00:00", process="p2"),
        risk(2, "2026-03-02T00:00:00"),
    ]
    assert found("deleted_with_open", history, "2026-03-01T23:59:59.999999") == []


@WORLD.given(
    acp(),
    seller("deleted", "v2", "2026-03-03T00:00:00Z"),
    {**seller("deleted", "v1", "2026-03-02T00:00:00Z"), "occurred_at": "2026-03-04T00:00:00Z"},
)
def test_of_two_deletions_the_first_is_final(history):
    assert found("deleted_with_open", history, "2026-03-03T12:00:00") == [
        risk(2, "2026-03-03T00:00:00")
    ]
    assert found("deleted_with_open", history, "2026-03-05T00:00:00") == [
        risk(3, "2026-03-02T00:00:00")
    ]


@WORLD.given(
    live(acp(), "2026-03-01T12:00:05.000001Z"),
    in_time=[live(acp(), "2026-03-01T12:00:05Z")],
    ingested=[{**acp(), "recorded_at": "2026-03-05T12:00:00Z"}],
)
def test_slow_record(history, in_time, ingested):
    assert found("slow_record", history, "2026-03-02T00:00:00") == [
        notice(1, "2026-03-01T12:00:05.000001", process=None)
    ]
    assert found("slow_record", in_time, NOON) == []
    assert found("slow_record", ingested, NOON) == []


def delivered_twice(line):
    return WORLD.add(line, {**line, "occurred_at": "2026-03-01T13:00:00Z"})


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        (delivered_twice(line), expected)
        for line, expected in (
            (acp(type="NEW_TYPE"), notice(1, NOON, "review type: NEW_TYPE")),
            (acp(status="SUSPENDED"), notice(1, NOON, "review status: SUSPENDED")),
            (
                acp(requested_fields=["address.city", "documents"]),
                notice(1, NOON, "requested path: documents"),
            ),
            (acp(requested_fields=["revenue", ""]), notice(1, NOON, "requested path: ")),
            (
                webhook({"id": "e1", "type": "seller.paused"}),
                notice(1, NOON, "event type: seller.paused", process=None),
            ),
            (
                webhook({"id": "e1", "type": "seller.created", "payload": {}}),
                notice(1, NOON, "payload: seller.created", process=None),
            ),
            (
                seller("denied", "e1", decision_reasons=[{"reason": "BAD_LUCK"}]),
                ("notice", None, "s1", 1, "reason: BAD_LUCK", at(NOON)),
            ),
            (
                seller(
                    *("denied", "e1"),
                    decision_reasons=[{"reason": "FRAUD_PREVENTION", "detail": "HMM"}],
                ),
                ("notice", None, "s1", 1, "detail: HMM", at(NOON)),
            ),
            (
                acp(event_id=None),
                notice(1, NOON, "event without id: regulatory.registration.review.required"),
            ),
        )
    ],
)
def test_new_code_once_for_each_kind_and_value(history, expected):
    assert found("new_code", history, "2026-03-02T00:00:00") == [expected]


@pytest.mark.parametrize(
    "history",
    [
        # Of its own: digests of whole bodies decide which version is the first.
        [acp(process_id=process, type=f"OF_{order}") for process in order.split("_")]
        for order in ("p1_p2", "p2_p1")
    ],
)
def test_of_versions_at_one_instant_new_code_is_about_the_same_in_every_order(history):
    [row] = found("new_code", history, "2026-03-02T00:00:00")
    assert row[1] == "p1"


@WORLD.given(
    acp(requested_fields=["owner.address.line2", "owner"]),
    acp("e2", status=None),
    seller("denied", "e3", decision_reasons=[{"reason": "INTERNAL_KYC_POLICY", "detail": ""}]),
    webhook({"id": "e4", "type": "bank_account.associated", "payload": "anything"}),
)
def test_no_new_code_for_what_the_contract_lists(history):
    assert found("new_code", history, "2026-03-02T00:00:00") == []


@WORLD.given(
    *[acp(), action("override", "2026-03-02T00:00:00Z", gates=["evidence"])],
    replacement=[acp(), action("replacement", "2026-03-02T00:00:00Z")],
)
def test_override(history, replacement):
    assert found("override", history, "2026-03-02T00:00:00") == [notice(2, "2026-03-02T00:00:00")]
    assert found("override", history, "2026-03-01T23:59:59.999999") == []
    assert found("override", replacement, "2026-03-02T00:00:00") == []


# --- what texts, places in the log or all of it decide: in ledgers of their own ---


def test_a_delivery_counts_from_its_earliest_receipt_in_whatever_order_it_was_recorded():
    history = [acp(occurred_at="2026-03-05T00:00:00Z"), acp(occurred_at="2026-03-02T00:00:00Z")]
    [row] = asked(history, "process_state", at("2026-03-03T00:00:00"))
    assert row["state"] == "PENDING"
    assert asked(history, "process_state", at("2026-03-01T23:59:59.999999")) == []


def test_quarantined_until_it_is_replayed():
    broken = webhook("not json")
    [row] = found("quarantined", [broken], NOON)
    assert row[:4] == ("risk", None, None, 1)
    assert row[5] == at(NOON)
    replayed = {**live(acp()), "replay_of": 1}
    assert found("quarantined", [broken, replayed], NOON) == []


def test_the_gravest_stands_first():
    history = [
        acp(status="SUSPENDED"),
        acp("e2", "2026-03-05T00:00:00Z", deadline_at="2026-04-30T13:00:00Z"),
    ]
    found_later = asked(history, "findings", at("2026-06-01T00:00:00"))
    assert [row["severity"] for row in found_later] == ["breach", "risk", "notice"]


def test_no_entry_is_back_dated():
    history = [live(acp(occurred_at="2026-03-01T12:00:06Z")), live(acp("e2"))]
    assert found("slow_record", history, "2026-03-02T00:00:00") == [
        notice(2, "2026-03-01T12:00:06", process=None)
    ]
