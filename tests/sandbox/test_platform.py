"""The platform's state machine against the contract's tables, by simulated time."""

import itertools
import json
import random
from datetime import UTC, datetime
from typing import Any

import pytest

from sandbox import people
from sandbox.platform.state_machine import Platform, Policy
from sandbox.resources import Event, Reason, denied

SECOND = 1_000_000
MINUTE = 60 * SECOND
DAY = 86_400 * SECOND
NOON = int(datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()) * SECOND  # 1 March 2026, 12:00 UTC

SELLER_FIELDS = [
    "id", "status", "resource", "account_balance", "current_balance", "first_name", "last_name",
    "email", "taxpayer_id", "phone_number", "birthdate", "address", "mcc", "show_profile_online",
    "is_mobile", "decline_on_fail_security_code", "decline_on_fail_zipcode", "delinquent",
    "marketplace_id", "uri", "metadata", "created_at", "updated_at", "revenue", "type",
    "document_number",
]  # fmt: skip


def somebody(seed: int = 1) -> people.Profile:
    return people.person(random.Random(seed))


def a_firm(seed: int = 1) -> people.Profile:
    return people.business(random.Random(seed))


def read(event: Event) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(event.body)
    return document


def statuses(events: list[Event]) -> list[tuple[str, str]]:
    """Status and instant of each report of a review."""
    return [
        (read(event)["payload"]["object"]["status"], read(event)["created_at"])
        for event in events
        if event.process_id is not None
    ]


def good_payload(process_id: str) -> bytes:
    return json.dumps(
        {
            "process_id": process_id,
            "type": "individual",
            "revenue": "1000_to_5000",
            "address": {
                "line1": "Rua das Acácias, 10",
                "line3": "Centro",
                "city": "Campinas",
                "state": "SP",
                "postal_code": "13015000",
                "country_code": "BR",
            },
        }
    ).encode()


def test_an_acp_is_pending_for_30_days_overdue_for_30_more_and_then_expired() -> None:
    platform = Platform()
    seller = platform.adopt_seller(somebody(), NOON - 400 * DAY)
    process = platform.require_review(seller.seller_id, "ACP", NOON)

    platform.advance(NOON + 30 * DAY - 1)
    assert process.status == "PENDING"
    platform.advance(NOON + 30 * DAY)
    assert process.status == "OVERDUE"
    platform.advance(NOON + 60 * DAY - 1)
    assert process.status == "OVERDUE"
    platform.advance(NOON + 60 * DAY)
    assert process.status == "EXPIRED"

    assert statuses(platform.take_events()) == [
        ("PENDING", "2026-03-01T12:00:00.000Z"),
        ("OVERDUE", "2026-03-31T12:00:00.000Z"),
        ("EXPIRED", "2026-04-30T12:00:00.000Z"),
    ]


def test_an_aci_is_overdue_at_once_and_expires_after_30_days() -> None:
    platform = Platform()
    seller = platform.adopt_seller(somebody(), NOON - 400 * DAY)
    process = platform.require_review(seller.seller_id, "ACI", NOON, ("revenue",))

    assert process.status == "OVERDUE"
    platform.advance(NOON + 30 * DAY - 1)
    assert process.status == "OVERDUE"
    platform.advance(NOON + 30 * DAY)
    assert process.status == "EXPIRED"

    assert statuses(platform.take_events()) == [
        ("OVERDUE", "2026-03-01T12:00:00.000Z"),
        ("EXPIRED", "2026-03-31T12:00:00.000Z"),
    ]


def test_a_review_event_has_the_contracts_envelope() -> None:
    platform = Platform()
    seller = platform.adopt_seller(somebody(), NOON - 400 * DAY)
    process = platform.require_review(seller.seller_id, "ACI", NOON, ("revenue", "address.city"))
    (event,) = platform.take_events()

    assert read(event) == {
        "id": event.event_id,
        "type": "regulatory.registration.review.required",
        "created_at": "2026-03-01T12:00:00.000Z",
        "payload": {
            "object": {
                "type": "INCONSISTENT_DATA_UPDATE_REQUIRED",
                "process_id": process.process_id,
                "customer_id": seller.seller_id,
                "status": "OVERDUE",
                "deadline_at": "2026-03-31T12:00:00.000Z",
                "requested_fields": ["revenue", "address.city"],
            }
        },
    }


@pytest.mark.parametrize(
    ("profile", "fields"),
    [
        (
            somebody(),
            ["revenue", "address.line1", "address.line2", "address.line3", "address.city",
             "address.state", "address.postal_code", "address.country_code"],
        ),
        (
            a_firm(),
            ["revenue", "address.line1", "address.line2", "address.line3", "address.city",
             "address.state", "address.postal_code", "address.country_code",
             "owner.revenue", "owner.address.line1", "owner.address.line2", "owner.address.line3",
             "owner.address.city", "owner.address.state", "owner.address.postal_code",
             "owner.address.country_code"],
        ),
    ],
    ids=["individual", "business"],
)  # fmt: skip
def test_an_acp_asks_for_every_registration_field_of_the_seller_type(
    profile: people.Profile, fields: list[str]
) -> None:
    platform = Platform()
    seller = platform.adopt_seller(profile, NOON)
    platform.require_review(seller.seller_id, "ACP", NOON)
    (event,) = platform.take_events()
    subject = read(event)["payload"]["object"]
    assert subject["type"] == "REGISTRATION_REVIEW_REQUIRED"
    assert subject["requested_fields"] == fields


def test_a_new_seller_is_created_and_enabled_within_three_minutes() -> None:
    platform = Platform(seed=3)
    seller = platform.create_seller(somebody(), NOON)
    assert [event.event_type for event in platform.take_events()] == ["seller.created"]

    platform.advance(NOON + 3 * MINUTE)
    (enabled,) = platform.take_events()
    assert enabled.event_type == "seller.enabled"
    assert NOON < enabled.created_at <= NOON + 3 * MINUTE

    record = read(enabled)["payload"]["object"]
    assert list(record) == SELLER_FIELDS
    assert record["id"] == seller.seller_id
    assert record["status"] == "enabled"
    assert record["resource"] == "seller"
    assert record["created_at"] == "2026-03-01T09:00:00-03:00"


def test_99_of_100_analyses_take_less_than_three_minutes() -> None:
    platform = Platform(seed=5)
    for number in range(1_000):
        platform.create_seller(somebody(number), NOON)
    platform.advance(NOON + DAY)
    decided = [e.created_at for e in platform.take_events() if e.event_type == "seller.enabled"]
    slow = sum(at > NOON + 3 * MINUTE for at in decided)
    assert len(decided) == 1_000
    assert 1 <= slow <= 25


def test_a_denial_carries_its_reasons_and_whether_to_try_again() -> None:
    platform = Platform()
    platform.create_seller(
        somebody(),
        NOON,
        denied(
            Reason("DOCUMENT_VALIDATION", "DOCUMENT_QUALITY"),
            Reason("FRAUD_PREVENTION"),
            Reason("INTERNAL_KYC_POLICY"),
        ),
    )
    platform.advance(NOON + DAY)
    record = read(platform.take_events()[-1])["payload"]["object"]

    assert record["status"] == "denied"
    assert record["decision_reasons"] == [
        {"reason": "DOCUMENT_VALIDATION", "detail": "DOCUMENT_QUALITY"},
        {"reason": "FRAUD_PREVENTION", "detail": ""},  # empty here,
        {"reason": "INTERNAL_KYC_POLICY"},  # absent here: the contract allows both
    ]
    assert record["retry"] is False
    assert list(record) == [*SELLER_FIELDS, "decision_reasons", "retry"]


@pytest.mark.parametrize(
    ("reason", "detail", "retry"),
    [
        ("DOCUMENT_VALIDATION", "DOCUMENT_NOT_MATCH", True),
        ("DOCUMENT_VALIDATION", "DOCUMENT_QUALITY", True),
        ("INTERNAL_KYC_POLICY", None, False),
        ("FRAUD_PREVENTION", None, False),
        ("REGISTRATION_INCONSISTENCY", "NAME_INVALID", True),
        ("REGISTRATION_INCONSISTENCY", "BIRTH_DATE_INVALID", True),
        ("REGISTRATION_INCONSISTENCY", "REGISTRATION_STATUS_INVALID", False),
    ],
)
def test_correctable_reasons_allow_a_new_attempt(
    reason: str, detail: str | None, retry: bool
) -> None:
    assert denied(Reason(reason, detail)).retry is retry


def test_a_new_attempt_is_a_new_seller_with_the_same_taxpayer_number() -> None:
    platform = Platform()
    first = platform.create_seller(somebody(), NOON, denied(Reason("FRAUD_PREVENTION")))
    again = platform.create_seller(people.corrected(random.Random(2), first.profile), NOON + DAY)
    assert again.seller_id != first.seller_id
    assert again.profile.taxpayer_id == first.profile.taxpayer_id


def test_an_accepted_submission_finishes_the_process_and_updates_the_registration() -> None:
    platform = Platform()
    seller = platform.adopt_seller(somebody(), NOON - DAY)
    process = platform.require_review(seller.seller_id, "ACP", NOON)
    answer = platform.submit(
        seller.seller_id, good_payload(process.process_id), NOON + DAY, process.process_id
    )
    assert answer.status == 200
    assert process.status == "FINISHED"
    assert process.finished_at == NOON + DAY
    assert seller.profile.revenue == "1000_to_5000"
    assert seller.profile.address.city == "Campinas"

    platform.advance(NOON + 2 * DAY)
    kinds = [event.event_type for event in platform.take_events()]
    assert kinds == [
        "regulatory.registration.review.required",
        "seller.updated",
        "regulatory.registration.review.required",
    ]


def test_the_finished_report_is_made_after_the_answer() -> None:
    """Were it earlier, the marketplace would learn of the end from the event, not the answer."""
    platform = Platform()
    seller = platform.adopt_seller(somebody(), NOON - DAY)
    process = platform.require_review(seller.seller_id, "ACP", NOON)
    platform.take_events()
    platform.submit(seller.seller_id, good_payload(process.process_id), NOON + DAY)
    platform.advance(NOON + 61 * DAY)
    reports = [event for event in platform.take_events() if event.process_id]
    assert [read(event)["payload"]["object"]["status"] for event in reports] == ["FINISHED"]
    assert reports[0].created_at >= NOON + DAY + 20 * SECOND


def test_an_expired_process_still_takes_a_submission() -> None:
    platform = Platform()
    seller = platform.adopt_seller(somebody(), NOON)
    process = platform.require_review(seller.seller_id, "ACP", NOON)
    platform.advance(NOON + 61 * DAY)
    assert process.status == "EXPIRED"
    answer = platform.submit(seller.seller_id, good_payload(process.process_id), NOON + 61 * DAY)
    assert answer.status == 200
    assert process.status == "FINISHED"


def test_the_same_key_and_bytes_get_the_same_200_and_anything_else_a_409() -> None:
    platform = Platform()
    seller = platform.adopt_seller(somebody(), NOON)
    process = platform.require_review(seller.seller_id, "ACP", NOON)
    payload, key = good_payload(process.process_id), process.process_id
    first = platform.submit(seller.seller_id, payload, NOON + 1, key)
    assert first.status == 200

    assert platform.submit(seller.seller_id, payload, NOON + DAY, key) == first
    other = payload.replace(b"1000_to_5000", b"5000_to_9000")
    assert platform.submit(seller.seller_id, other, NOON + DAY, key).status == 409
    assert platform.submit(seller.seller_id, payload, NOON + DAY, None).status == 409
    assert platform.submit(seller.seller_id, payload, NOON + DAY, "another key").status == 409


def test_a_refused_submission_does_not_use_up_its_key() -> None:
    platform = Platform()
    seller = platform.adopt_seller(somebody(), NOON)
    process = platform.require_review(seller.seller_id, "ACP", NOON)
    key = process.process_id
    bad = good_payload(key).replace(b"13015000", b"13015-000")
    assert platform.submit(seller.seller_id, bad, NOON, key).status == 400
    assert platform.submit(seller.seller_id, good_payload(key), NOON, key).status == 200


def test_an_aci_follows_a_finished_process_within_minutes() -> None:
    platform = Platform(policy=Policy(follow_up_share=1.0))
    seller = platform.adopt_seller(somebody(), NOON)
    process = platform.require_review(seller.seller_id, "ACP", NOON)
    platform.submit(seller.seller_id, good_payload(process.process_id), NOON + DAY)
    platform.advance(NOON + DAY + 15 * MINUTE)
    follow_up = list(platform.processes.values())[1]
    assert follow_up.review_type == "ACI"
    assert follow_up.seller_id == seller.seller_id
    assert NOON + DAY < follow_up.opened_at <= NOON + DAY + 15 * MINUTE


def test_a_seller_can_have_several_open_processes() -> None:
    platform = Platform()
    seller = platform.adopt_seller(somebody(), NOON)
    acp = platform.require_review(seller.seller_id, "ACP", NOON)
    aci = platform.require_review(seller.seller_id, "ACI", NOON + DAY, ("revenue",))
    answer = platform.submit(seller.seller_id, good_payload(acp.process_id), NOON + 2 * DAY)
    assert answer.status == 200
    assert (acp.status, aci.status) == ("FINISHED", "OVERDUE")


def test_the_policy_asks_for_an_acp_again_and_again() -> None:
    platform = Platform(policy=Policy(acp_interval_days=180))
    platform.create_seller(somebody(), NOON)
    platform.advance(NOON + 1_000 * DAY)
    opened = [process.opened_at for process in platform.processes.values()]
    gaps = [later - earlier for earlier, later in itertools.pairwise(opened)]
    assert len(opened) >= 4
    assert all(144 * DAY <= gap <= 216 * DAY for gap in gaps)


def test_a_later_deadline_moves_the_end_and_not_day_30() -> None:
    platform = Platform()
    seller = platform.adopt_seller(somebody(), NOON)
    process = platform.require_review(seller.seller_id, "ACP", NOON)
    platform.advance(NOON + 50 * DAY)
    platform.move_deadline(process.process_id, NOON + 90 * DAY, NOON + 50 * DAY)
    assert process.status == "OVERDUE"
    platform.advance(NOON + 100 * DAY)
    assert statuses(platform.take_events()) == [
        ("PENDING", "2026-03-01T12:00:00.000Z"),
        ("OVERDUE", "2026-03-31T12:00:00.000Z"),
        ("OVERDUE", "2026-04-20T12:00:00.000Z"),
        ("EXPIRED", "2026-05-30T12:00:00.000Z"),
    ]


def test_an_earlier_deadline_brings_its_last_30_days_forward() -> None:
    platform = Platform()
    seller = platform.adopt_seller(somebody(), NOON)
    process = platform.require_review(seller.seller_id, "ACP", NOON)
    platform.move_deadline(process.process_id, NOON + 40 * DAY, NOON + DAY)
    platform.advance(NOON + 100 * DAY)
    assert statuses(platform.take_events()) == [
        ("PENDING", "2026-03-01T12:00:00.000Z"),
        ("PENDING", "2026-03-02T12:00:00.000Z"),
        ("OVERDUE", "2026-03-11T12:00:00.000Z"),
        ("EXPIRED", "2026-04-10T12:00:00.000Z"),
    ]


def test_a_review_asked_for_in_the_past_stands_where_its_clock_has_come_to() -> None:
    platform = Platform()
    seller = platform.adopt_seller(somebody(), NOON)
    process = platform.require_review(seller.seller_id, "ACP", NOON - 61 * DAY)
    platform.advance(NOON)
    assert process.status == "EXPIRED"
    assert [status for status, _ in statuses(platform.take_events())] == [
        "PENDING",
        "OVERDUE",
        "EXPIRED",
    ]


def test_a_deleted_seller_is_no_longer_accessible() -> None:
    platform = Platform()
    seller = platform.adopt_seller(somebody(), NOON)
    process = platform.require_review(seller.seller_id, "ACP", NOON)
    platform.delete_seller(seller.seller_id, NOON + 1)
    answer = platform.submit(seller.seller_id, good_payload(process.process_id), NOON + 2)
    assert answer.status == 404


def test_bank_accounts_come_and_go() -> None:
    platform = Platform()
    seller = platform.adopt_seller(somebody(), NOON)
    account = platform.associate_bank_account(seller.seller_id, NOON)
    platform.delete_bank_account(seller.seller_id, account.account_id, NOON + DAY)
    events = platform.take_events()
    assert [event.event_type for event in events] == [
        "bank_account.associated",
        "bank_account.deleted",
    ]
    assert {read(event)["payload"]["object"]["customer_id"] for event in events} == {
        seller.seller_id
    }
    assert seller.bank_accounts == {}


def test_the_same_seed_says_the_same_and_another_does_not() -> None:
    def bodies(seed: int) -> list[bytes]:
        platform = Platform(seed=seed, policy=Policy(denial_share=0.5))
        for number in range(20):
            platform.create_seller(somebody(number), NOON)
        platform.advance(NOON + DAY)
        return [event.body for event in platform.take_events()]

    assert bodies(1) == bodies(1)
    assert bodies(1) != bodies(2)


def test_taxpayer_numbers_carry_correct_check_digits() -> None:
    """Checked by the authority's rule in its other form: the whole sum is a multiple of 11."""
    rng = random.Random(11)
    for _ in range(200):
        cpf = [int(digit) for digit in people.cpf(rng)]
        assert len(cpf) == 11
        for end in (9, 10):
            weighted = sum(d * (end + 1 - place) for place, d in enumerate(cpf[:end]))
            assert cpf[end] == (weighted * 10) % 11 % 10
        cnpj = [int(digit) for digit in people.cnpj(rng)]
        assert len(cnpj) == 14
        assert cnpj[8:12] == [0, 0, 0, 1]
        for end in (12, 13):
            weighted = sum(d * (2 + place % 8) for place, d in enumerate(reversed(cnpj[:end])))
            assert cnpj[end] == (weighted * 10) % 11 % 10


# What a platform may do wrong


def test_a_report_can_be_delivered_again_with_the_status_of_now() -> None:
    """Under its own id and `created_at`: only the content says that the process is finished."""
    platform = Platform()
    seller = platform.adopt_seller(somebody(), NOON - DAY)
    process = platform.require_review(seller.seller_id, "ACI", NOON)
    [first] = platform.take_events()
    platform.finish(process.process_id, NOON + DAY, is_reported=False)
    assert platform.take_events() == []

    platform.report_again(process.process_id, NOON + 2 * DAY)
    [again] = platform.take_events()
    assert (again.event_id, again.created_at) == (first.event_id, NOON)
    assert statuses([first, again]) == [
        ("OVERDUE", "2026-03-01T12:00:00.000Z"),
        ("FINISHED", "2026-03-01T12:00:00.000Z"),
    ]


def test_an_id_can_be_given_to_other_news() -> None:
    platform = Platform()
    seller = platform.adopt_seller(somebody(), NOON - DAY)
    platform.require_review(seller.seller_id, "ACP", NOON)
    other = platform.require_review(seller.seller_id, "ACI", NOON)
    first, _ = platform.take_events()

    platform.report(other.process_id, NOON + DAY, event_id=first.event_id)
    [second] = platform.take_events()
    assert second.event_id == first.event_id
    assert second.process_id == other.process_id != first.process_id
    assert read(second)["created_at"] == "2026-03-02T12:00:00.000Z"
