"""Every line of the history has the interface's fields, every event the contract's."""

import json
from datetime import UTC, datetime, timedelta

from tests.sandbox.past import REASONS, Json, at
from tests.support.events import EVENT_TYPES


def test_lines_have_the_fields_of_the_interface(lines: list[Json]) -> None:
    fields = {
        "webhook": {"kind", "occurred_at", "body"},
        "submission_started": {
            "kind", "occurred_at", "attempt_id", "process_id", "seller_id", "marketplace_id",
            "idempotency_key", "body",
        },
        "submission_finished": {
            "kind", "occurred_at", "attempt_id", "process_id", "status", "error", "body",
        },
        "collection": {
            "kind", "occurred_at", "process_id", "seller_id", "journey_id", "step", "channel",
            "source", "actor",
        },
    }  # fmt: skip
    for line in lines:
        extra = {"fields"} if line.get("step") == "answered" else set()
        assert set(line) == fields[line["kind"]] | extra
        json.dumps(line)


def test_every_event_conforms_to_the_contract(events: list[Json]) -> None:
    for event in events:
        assert list(event) == ["id", "type", "created_at", "payload"]
        assert event["type"] in EVENT_TYPES
        assert event["created_at"].endswith("Z")
        subject = event["payload"]["object"]
        if event["type"] == "regulatory.registration.review.required":
            check_review(subject)
        elif event["type"].startswith("seller."):
            check_seller(subject, event["type"])


def check_review(subject: Json) -> None:
    assert list(subject) == [
        "type", "process_id", "customer_id", "status", "deadline_at", "requested_fields",
    ]  # fmt: skip
    statuses = {"PENDING", "OVERDUE", "EXPIRED", "FINISHED"}
    if subject["type"] == "INCONSISTENT_DATA_UPDATE_REQUIRED":
        statuses -= {"PENDING"}
    else:
        assert subject["type"] == "REGISTRATION_REVIEW_REQUIRED"
    assert subject["status"] in statuses
    assert at(subject["deadline_at"]).tzinfo == UTC
    assert subject["requested_fields"]
    assert all(isinstance(path, str) for path in subject["requested_fields"])


def check_seller(record: Json, event_type: str) -> None:
    texts = [
        "id",
        "status",
        "resource",
        "first_name",
        "last_name",
        "email",
        "taxpayer_id",
        "phone_number",
        "birthdate",
        "mcc",
        "marketplace_id",
        "uri",
        "created_at",
        "updated_at",
        "type",
        "document_number",
    ]
    flags = [
        "show_profile_online",
        "is_mobile",
        "decline_on_fail_security_code",
        "decline_on_fail_zipcode",
        "delinquent",
    ]
    assert all(isinstance(record[name], str) and record[name] for name in texts)
    assert all(isinstance(record[name], bool) for name in flags)
    assert all(
        isinstance(record[name], int | float)
        for name in ("account_balance", "current_balance", "revenue")
    )
    assert isinstance(record["metadata"], dict)
    assert set(record["address"]) == {
        "line1", "line2", "line3", "neighborhood", "city", "state", "postal_code", "country_code",
    }  # fmt: skip
    assert record["resource"] == "seller"
    assert record["type"] in ("individual", "business")
    assert at(record["created_at"]).utcoffset() == timedelta(hours=-3)
    assert datetime.strptime(record["birthdate"], "%Y-%m-%d")  # noqa: DTZ007 - a date alone
    if event_type == "seller.denied":
        assert record["status"] == "denied"
        assert isinstance(record["retry"], bool)
        for item in record["decision_reasons"]:
            assert (item["reason"], item.get("detail") or None) in REASONS
    else:
        assert "decision_reasons" not in record
        assert "retry" not in record


def test_every_kind_of_event_occurs(events: list[Json]) -> None:
    assert {event["type"] for event in events} == set(EVENT_TYPES)
