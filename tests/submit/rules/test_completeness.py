"""Which fields a review needs, and which it does not take: docs/rules.md#what-may-be-sent."""

import pytest

from pipeline.submit.demand import Process, wanted
from tests.submit.rules.builders import (
    ADDRESS,
    ASKED_BY,
    BUSINESS,
    BUSINESS_FIELDS,
    INDIVIDUAL,
    INDIVIDUAL_FIELDS,
    aci,
    aci_body,
    acp,
    faults,
    judge,
    named,
    without,
)


@pytest.mark.parametrize("path", BUSINESS_FIELDS)
def test_an_acp_of_a_business_lacks_nothing(path: str) -> None:
    assert faults(without(BUSINESS, path), acp()) == {(path, "missing")}


@pytest.mark.parametrize("path", INDIVIDUAL_FIELDS)
def test_an_acp_of_an_individual_lacks_nothing(path: str) -> None:
    assert faults(without(INDIVIDUAL, path), acp()) == {(path, "missing")}


def test_an_individual_has_no_owner_in_either_kind_of_review() -> None:
    assert faults({**BUSINESS, "type": "individual"}, acp()) == {("owner", "owner_on_individual")}
    payload = aci_body(revenue="1_to_2", owner={"revenue": "1_to_2"})
    assert faults(payload, aci("revenue")) == {("owner", "owner_on_individual")}


@pytest.mark.parametrize("listed", ["owner", "owner.revenue"])
def test_an_owner_that_is_requested_makes_the_seller_a_business(listed: str) -> None:
    owner = BUSINESS["owner"] if listed == "owner" else {"revenue": "1_to_2"}

    assert faults(aci_body(owner=owner, type="business"), aci(listed)) == set()
    assert faults(aci_body(owner=owner), aci(listed)) == {("type", "type_mismatch")}
    overridden = judge(aci_body(owner=owner), aci(listed), is_overridden=True)
    assert overridden.violations == ()
    assert named(overridden.warnings) == {("type", "type_mismatch")}


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ("business", {("type", "type_mismatch")}),
        ("individual", set()),
        (None, set()),
        ("INDIVIDUAL", set()),
    ],
)
def test_the_type_is_the_one_of_the_sellers_record(
    recorded: str | None, expected: set[tuple[str, str]]
) -> None:
    assert faults(INDIVIDUAL, acp(), seller_type=recorded) == expected


def test_a_requested_owner_says_more_of_the_type_than_the_sellers_record() -> None:
    payload = aci_body(owner={"revenue": "1_to_2"}, type="business")

    assert faults(payload, aci("owner.revenue"), seller_type="individual") == set()


@pytest.mark.parametrize(
    ("listed", "recorded", "expected"),
    [
        ("owner.revenue", "individual", "business, requested_fields name its owner"),
        ("revenue", "business", "business, as its latest seller record says"),
    ],
)
def test_the_other_type_is_refused_with_how_the_sellers_type_is_known(
    listed: str, recorded: str, expected: str
) -> None:
    [violation, *_] = judge(aci_body(), aci(listed), seller_type=recorded).violations

    assert (violation.rule, violation.expected) == ("type_mismatch", expected)


@pytest.mark.parametrize(
    ("process", "optional"),
    [
        (acp(), ("address.line2", "owner.address.line2")),
        (aci("address"), ("address.line2",)),
        (aci("address.line2"), ("address.line2",)),
        (aci("owner"), ("owner.address.line2",)),
        (aci("owner.address"), ("owner.address.line2",)),
        (aci("owner.address.line2"), ("owner.address.line2",)),
        (aci("address.city", "owner.revenue"), ()),
    ],
)
def test_a_complement_may_be_given_wherever_its_address_is_asked_for(
    process: Process, optional: tuple[str, ...]
) -> None:
    assert wanted(process, "business").optional == optional


def test_an_unknown_type_is_not_called_another_one() -> None:
    payload = {**INDIVIDUAL, "type": "company"}

    assert faults(payload, acp(), seller_type="business") == {("type", "wrong_format")}


def test_an_acp_holds_what_its_requested_fields_list_besides() -> None:
    assert faults(INDIVIDUAL, acp("revenue", "address", "phone", "contact.email")) == {
        ("phone", "missing"),
        ("contact.email", "missing"),
    }


def test_an_acp_is_complete_whatever_its_requested_fields_leave_out() -> None:
    assert faults(aci_body(revenue="1_to_2"), acp("revenue")) == {
        (path, "missing") for path in ASKED_BY["address"]
    }
    assert faults(INDIVIDUAL, acp("address.city")) == set()


def test_the_complement_may_always_be_left_out() -> None:
    assert faults(INDIVIDUAL, acp("address.line2", "address")) == set()
    assert faults(aci_body(), aci("address.line2")) == set()
    assert faults(aci_body(address={"line2": "ap 4"}), aci("address.line2")) == set()


def test_an_aci_holds_what_is_requested_and_nothing_else() -> None:
    process = aci("revenue", "address.city")

    assert faults(aci_body(revenue="1_to_2", address={"city": "Recife"}), process) == set()
    assert faults(aci_body(address={"city": "Recife"}), process) == {("revenue", "missing")}
    assert faults(INDIVIDUAL, process) == {
        (f"address.{key}", "not_requested")
        for key in ("line1", "line3", "state", "postal_code", "country_code")
    }


def test_an_address_that_is_requested_is_a_full_one() -> None:
    assert faults(aci_body(address={"city": "Recife"}), aci("address")) == {
        (f"address.{key}", "missing")
        for key in ("line1", "line3", "state", "postal_code", "country_code")
    }
    assert faults(aci_body(address={**ADDRESS, "line2": "ap 4"}), aci("address")) == set()


def test_an_owner_that_is_requested_is_a_whole_one() -> None:
    owner = {"revenue": "2000_to_3000", "address": ADDRESS}

    assert faults(aci_body(type="business", owner=owner), aci("owner")) == set()
    assert faults(aci_body(type="business", owner={"address": ADDRESS}), aci("owner")) == {
        ("owner.revenue", "missing")
    }
    assert faults(aci_body(type="business", owner=owner), aci("owner.address")) == {
        ("owner.revenue", "not_requested")
    }


@pytest.mark.parametrize("value", ["Rua A", {}, None])
def test_an_address_that_is_not_requested_is_not_asked_to_be_a_better_one(value: object) -> None:
    payload = aci_body(revenue="1_to_2", address=value)

    assert faults(payload, aci("revenue")) == {("address", "not_requested")}


def test_an_aci_that_lists_nothing_is_refused_for_that_reason() -> None:
    assert faults(INDIVIDUAL, aci()) == {("requested_fields", "nothing_requested")}
    assert faults(aci_body(), aci()) == {("requested_fields", "nothing_requested")}


def test_a_person_may_answer_an_aci_that_lists_nothing() -> None:
    overridden = judge(INDIVIDUAL, aci(), is_overridden=True)

    assert overridden.violations == ()
    assert named(overridden.warnings) == {("requested_fields", "nothing_requested")}


def test_a_review_of_a_type_the_contract_does_not_list_is_answered_as_an_aci() -> None:
    process = aci("revenue", review_type=None)

    assert faults(aci_body(revenue="1_to_2"), process) == set()
    assert faults(aci_body(revenue="1_to_2", address={"city": "Recife"}), process) == {
        ("address.city", "not_requested")
    }
    assert faults(INDIVIDUAL, aci(review_type=None)) == {("requested_fields", "nothing_requested")}
