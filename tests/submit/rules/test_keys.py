"""Who answers what, and under which keys: docs/rules.md#what-may-be-sent."""

from typing import Any

import pytest

from pipeline.submit.demand import Process
from pipeline.submit.rules import Verdict
from tests.submit.rules.builders import (
    ADDRESS,
    BUSINESS,
    INDIVIDUAL,
    aci,
    aci_body,
    acp,
    faults,
    judge,
    named,
    with_,
    without,
)


@pytest.mark.parametrize("payload", [INDIVIDUAL, BUSINESS], ids=["individual", "business"])
@pytest.mark.parametrize("state", ["PENDING", "OVERDUE", "EXPIRED"])
def test_a_complete_acp_is_sent_in_every_open_state(payload: dict[str, Any], state: str) -> None:
    assert judge(payload, acp(state=state)) == Verdict((), ())


def test_a_finished_process_is_refused_since_the_platform_would_answer_409() -> None:
    assert faults(INDIVIDUAL, acp(state="FINISHED")) == {("process_id", "process_finished")}


def test_a_process_that_nothing_names_is_refused() -> None:
    assert faults(INDIVIDUAL, None) == {("process_id", "process_unknown")}


def test_a_process_without_a_review_event_is_unknown_though_attempts_name_it() -> None:
    process = Process("rev_1", "sel_9", None, "UNKNOWN", None, ())

    assert faults(INDIVIDUAL, process) == {("process_id", "process_unknown")}


def test_a_process_finished_without_a_review_event_is_refused_on_both_counts() -> None:
    process = Process("rev_1", "sel_1", None, "FINISHED", None, ())

    assert faults(INDIVIDUAL, process) == {
        ("process_id", "process_unknown"),
        ("process_id", "process_finished"),
    }


def test_the_seller_of_the_call_is_the_customer_of_the_process() -> None:
    assert faults(INDIVIDUAL, acp(), seller_id="sel_2") == {("seller_id", "seller_mismatch")}


def test_where_no_customer_could_be_read_the_call_says_whose_process_it_is() -> None:
    """Nobody could answer it otherwise, and no override waives another seller."""
    assert faults(INDIVIDUAL, acp(seller_id=None), seller_id="sel_2") == set()


def test_the_body_names_the_process_of_the_call() -> None:
    assert faults(without(INDIVIDUAL, "process_id"), acp()) == {("process_id", "missing")}
    assert faults(with_(INDIVIDUAL, "process_id", "rev_2"), acp()) == {
        ("process_id", "process_mismatch")
    }
    assert faults(with_(INDIVIDUAL, "process_id", 1), acp()) == {("process_id", "wrong_format")}


@pytest.mark.parametrize("value", ["Individual", "company", "", None, True, 1, ["individual"], {}])
def test_a_type_is_individual_or_business(value: object) -> None:
    assert faults(with_(INDIVIDUAL, "type", value), acp()) == {("type", "wrong_format")}


@pytest.mark.parametrize("payload", [None, True, 1, "text", [INDIVIDUAL]])
def test_a_body_that_is_not_an_object_is_refused(payload: object) -> None:
    assert faults(payload, acp(), answers={}) == {("body", "wrong_format")}


@pytest.mark.parametrize(
    ("key", "line"),
    [("street", "line1"), ("number", "line1"), ("complement", "line2"), ("neighborhood", "line3")],
)
@pytest.mark.parametrize("parent", ["address.", "owner.address.", ""])
def test_the_banking_endpoints_address_keys_are_refused_with_a_hint(
    key: str, line: str, parent: str
) -> None:
    verdict = judge(with_(BUSINESS, parent + key, "x"), acp())

    assert named(verdict.violations) == {(parent + key, "unknown_key")}
    assert verdict.violations[0].expected.startswith(line)


def test_a_key_that_differs_in_spelling_is_refused_with_the_right_one() -> None:
    payload = with_(without(INDIVIDUAL, "address.postal_code"), "address.postalCode", "51020000")

    verdict = judge(payload, acp())

    assert named(verdict.violations) == {
        ("address.postalCode", "unknown_key"),
        ("address.postal_code", "missing"),
    }
    assert verdict.violations[0].expected == "postal_code, spelled like this"


def test_a_dotted_path_is_not_a_key_though_it_is_requested_and_answered() -> None:
    payload = aci_body(**{"address.city": "Recife"})

    assert faults(payload, aci("address.city")) == {
        ("address.city", "unknown_key"),
        ("address.city", "missing"),
    }


def test_an_unknown_key_that_is_requested_takes_any_value() -> None:
    for value in ["+5581999990000", 12, 1.5, None, False, [], [{"a": [None]}], {}, {"a": {"b": 1}}]:
        assert faults({**INDIVIDUAL, "phone": value}, acp("phone")) == set()
        assert faults(aci_body(phone=value), aci("phone")) == set()


def test_an_unknown_key_below_a_requested_address_is_still_unknown() -> None:
    payload = aci_body(address={**ADDRESS, "region": "NE"})

    assert faults(payload, aci("address")) == {("address.region", "unknown_key")}


def test_an_unknown_field_of_the_address_may_be_requested() -> None:
    payload = aci_body(address={"region": "NE"})

    assert faults(payload, aci("address.region")) == set()
    assert faults(INDIVIDUAL, acp("address.region")) == {("address.region", "missing")}


def test_a_requested_path_opens_its_parents_but_not_its_siblings() -> None:
    process = aci("contact.phone")

    assert faults(aci_body(contact={"phone": "1"}), process) == set()
    assert faults(aci_body(contact={"phone": "1", "fax": "2"}), process) == {
        ("contact.fax", "unknown_key")
    }
    assert faults(aci_body(contact="1"), process) == {
        ("contact", "wrong_format"),
        ("contact.phone", "missing"),
    }


def test_a_field_of_the_contract_becomes_an_object_where_a_path_below_it_is_requested() -> None:
    process = aci("revenue.lower", "revenue.upper")

    assert faults(aci_body(revenue={"lower": 1000, "upper": 5000}), process) == set()
    assert faults(aci_body(revenue="1000_to_5000"), process) == {
        ("revenue", "wrong_format"),
        ("revenue.lower", "missing"),
        ("revenue.upper", "missing"),
    }


def test_a_path_below_process_id_or_type_asks_for_nothing_since_it_cannot_be_answered() -> None:
    assert faults(aci_body(), aci("process_id.issuer", "type.code")) == set()
