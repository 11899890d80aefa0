"""The gate of evidence, and what an override opens: docs/rules.md#what-may-be-sent."""

from dataclasses import replace
from typing import Any

import pytest

from pipeline.submit.rules import Answer
from tests.submit.rules.builders import (
    ADDRESS,
    ANSWERED_AT,
    ASKED_BY,
    BUSINESS,
    INDIVIDUAL,
    INDIVIDUAL_FIELDS,
    OPENED_AT,
    aci,
    aci_body,
    acp,
    answered,
    faults,
    judge,
    named,
)


def revenue_answer(**changes: Any) -> dict[str, Answer]:
    return {"revenue": replace(Answer("1_to_2", "seller", ANSWERED_AT, seq=7), **changes)}


REVENUE = {"process_id": "rev_1", "type": "individual", "revenue": "1_to_2"}


@pytest.mark.parametrize(
    ("answers", "rule"),
    [
        ({}, "field_without_evidence"),
        (revenue_answer(value="1_to_3"), "field_without_evidence"),
        (revenue_answer(source="bureau"), "source_not_seller"),
        (revenue_answer(source="Seller"), "source_not_seller"),
        (revenue_answer(answered_at=OPENED_AT - 1), "evidence_before_request"),
        # one reason per field, the first that holds
        (revenue_answer(value="1_to_3", source="bureau"), "field_without_evidence"),
        (revenue_answer(source="bureau", answered_at=OPENED_AT - 1), "source_not_seller"),
    ],
)
def test_a_field_without_proper_evidence_is_refused_or_sent_as_a_finding(
    answers: dict[str, Answer], rule: str
) -> None:
    assert faults(REVENUE, aci("revenue"), answers=answers) == {("revenue", rule)}

    warned = judge(REVENUE, aci("revenue"), answers=answers, evidence_gate="warn")
    overridden = judge(REVENUE, aci("revenue"), answers=answers, is_overridden=True)
    for verdict in (warned, overridden):
        assert not verdict.is_refused
        assert named(verdict.warnings) == {("revenue", rule)}


def test_a_difference_that_nobody_sees_is_said_without_either_value() -> None:
    """An answer typed elsewhere as the same letters was "another value", and nobody saw why."""
    city = {"process_id": "rev_1", "type": "individual", "address": {"city": "S\u00e3o Paulo"}}
    said = {"address.city": Answer("Sa\u0303o Paulo", "seller", ANSWERED_AT, seq=7)}
    [refused] = judge(city, aci("address.city"), answers=said).violations
    assert refused.found == (
        "another value than the latest answer (entry 7),"
        " which differs only in how accents are composed"
    )
    [other] = judge(REVENUE, aci("revenue"), answers=revenue_answer(value="1_to_3")).violations
    assert other.found == "another value than the latest answer (entry 7)"


def test_an_answer_given_at_the_instant_of_opening_is_not_older_than_it() -> None:
    answers = revenue_answer(answered_at=OPENED_AT)

    assert faults(REVENUE, aci("revenue"), answers=answers) == set()


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        *((1, True), (1, 1.0), (1, "1"), (0, False), ("", None), ("null", None), ([], {})),
        *(([1], [1.0]), (["a", "b"], ["b", "a"]), ("\u00e9", "e\u0301")),
    ],
)
def test_another_type_or_another_spelling_is_another_value(sent: object, answer: object) -> None:
    for value, proof in ((sent, answer), (answer, sent)):
        answers = {"code": Answer(proof, "seller", ANSWERED_AT, seq=7)}
        assert faults(aci_body(code=value), aci("code"), answers=answers) == {
            ("code", "field_without_evidence")
        }


def test_objects_in_an_array_are_the_same_whatever_the_order_of_their_keys() -> None:
    answers = {"code": Answer([{"b": 2, "a": 1}], "seller", ANSWERED_AT, seq=7)}

    assert faults(aci_body(code=[{"a": 1, "b": 2}]), aci("code"), answers=answers) == set()


def test_every_field_of_a_requested_object_needs_its_own_evidence() -> None:
    answers = answered(aci_body(bank={"branch": "1"}))

    assert faults(aci_body(bank={"branch": "1", "digit": 2}), aci("bank"), answers=answers) == {
        ("bank.digit", "field_without_evidence")
    }


def test_no_evidence_is_asked_for_what_must_not_be_sent_at_all() -> None:
    payload = aci_body(type="individual", city="Recife", address=ADDRESS, owner={"revenue": "1"})

    assert faults(payload, aci("type"), answers={}) == {
        ("city", "unknown_key"),
        ("owner", "owner_on_individual"),
        *((path, "not_requested") for path in ASKED_BY["address"]),
    }


def test_an_override_sends_for_an_unknown_process_and_says_so() -> None:
    verdict = judge(INDIVIDUAL, None, answers={}, is_overridden=True)

    assert verdict.violations == ()
    assert named(verdict.warnings) == {
        ("process_id", "process_unknown"),
        *((path, "field_without_evidence") for path in INDIVIDUAL_FIELDS),
    }


def test_an_override_waives_nothing_but_what_a_person_may_answer_for() -> None:
    payload = {**BUSINESS, "type": "individual", "revenue": 5, "phone": "1", "process_id": "rev_2"}
    payload["address"] = {**ADDRESS, "postal_code": "51020-000", "street": "Rua A"}
    process = acp("email", state="FINISHED")

    verdict = judge(payload, process, answers={}, seller_id="sel_2", is_overridden=True)

    assert named(verdict.violations) == {
        ("process_id", "process_finished"),
        ("process_id", "process_mismatch"),
        ("seller_id", "seller_mismatch"),
        ("owner", "owner_on_individual"),
        ("revenue", "numeric_revenue"),
        ("phone", "unknown_key"),
        ("address.street", "unknown_key"),
        ("address.postal_code", "wrong_format"),
        ("email", "missing"),
    }


def test_a_warning_gate_does_not_open_the_way_for_an_unknown_process() -> None:
    assert judge(INDIVIDUAL, None, evidence_gate="warn").is_refused
