"""One mistake at a time, by property.

Each starts from a payload that is right for its process: the mistake is named at its own path with
its own rule, and nothing else is.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pipeline.submit.demand import Process
from tests import depth
from tests.submit.rules.builders import (
    ANSWERED_AT,
    BUSINESS,
    KNOWN_FIELDS,
    OPENED_AT,
    answered,
    drop,
    flat,
    judge,
    named,
    put,
)
from tests.submit.rules.cases import (
    VALUES,
    WRONG,
    Case,
    cases,
    json_values,
    last,
    names,
    scalars,
    texts,
)


@given(cases())
def test_every_right_payload_passes(case: Case) -> None:
    assert case.faults() == set()


Mistake = Callable[[st.DataObject, Case], set[tuple[str, str]]]
"""Spoils a case in one way and returns what must be named."""


def a_needed_field_is_left_out(data: st.DataObject, case: Case) -> set[tuple[str, str]]:
    assume(case.needed)
    path = data.draw(st.sampled_from(case.needed))
    drop(case.payload, path)
    return {(path, "missing")}


def a_key_is_added(data: st.DataObject, case: Case) -> set[tuple[str, str]]:
    parents = {path.rpartition(".")[0] for path in case.sent_known()} | {""}
    key = data.draw(names | st.sampled_from(["street", "number", "complement", "Revenue", "a.b"]))
    assume(key not in case.payload)
    parent = data.draw(st.sampled_from(sorted(parents)))
    path = f"{parent}.{key}" if parent else key
    holder = case.payload
    for step in filter(None, parent.split(".")):
        holder = holder[step]
    holder[key] = data.draw(json_values)
    return {(path, "unknown_key")}


def a_key_is_spelled_in_upper_case(data: st.DataObject, case: Case) -> set[tuple[str, str]]:
    assume(case.needed)
    path = data.draw(st.sampled_from(case.needed))
    parent, dot, key = path.rpartition(".")
    value = dict(flat(case.payload))[path]
    put(case.payload, f"{parent}{dot}{key.upper()}", value)
    drop(case.payload, path)
    return {(path, "missing"), (f"{parent}{dot}{key.upper()}", "unknown_key")}


def a_value_is_wrong(data: st.DataObject, case: Case) -> set[tuple[str, str]]:
    assume(case.sent_known())
    path = data.draw(st.sampled_from(case.sent_known()))
    put(case.payload, path, data.draw(WRONG[last(path)]))
    case.answers = answered(case.payload)
    return {(path, "wrong_format")}


def a_revenue_is_a_number(data: st.DataObject, case: Case) -> set[tuple[str, str]]:
    bands_sent = [path for path in case.sent_known() if last(path) == "revenue"]
    assume(bands_sent)
    path = data.draw(st.sampled_from(bands_sent))
    put(case.payload, path, data.draw(st.integers(0, 10**9) | st.floats(0, 1e9)))
    case.answers = answered(case.payload)
    return {(path, "numeric_revenue")}


def an_individual_has_an_owner(data: st.DataObject, case: Case) -> set[tuple[str, str]]:
    assume(case.payload["type"] == "individual")
    case.payload["owner"] = data.draw(st.sampled_from([BUSINESS["owner"], {}, None, "x"]))
    return {("owner", "owner_on_individual")}


def the_type_is_wrong(data: st.DataObject, case: Case) -> set[tuple[str, str]]:
    case.payload["type"] = data.draw(json_values | st.sampled_from(["BUSINESS", "Individual"]))
    return {("type", "wrong_format")}


def an_identity_key_is_left_out(data: st.DataObject, case: Case) -> set[tuple[str, str]]:
    key = data.draw(st.sampled_from(["process_id", "type"]))
    del case.payload[key]
    return {(key, "missing")}


def the_body_is_of_another_process(data: st.DataObject, case: Case) -> set[tuple[str, str]]:
    case.payload["process_id"] = data.draw(texts)
    return {("process_id", "process_mismatch")}


def the_process_is_finished(_: st.DataObject, case: Case) -> set[tuple[str, str]]:
    case.process = replace(case.process, state="FINISHED")
    return {("process_id", "process_finished")}


def the_process_has_no_event(_: st.DataObject, case: Case) -> set[tuple[str, str]]:
    case.process = Process("rev_1", "sel_1", None, "UNKNOWN", None, ())
    return {("process_id", "process_unknown"), *((key, "unknown_key") for key in case.codes)}


def the_process_is_of_another_seller(data: st.DataObject, case: Case) -> set[tuple[str, str]]:
    case.process = replace(case.process, seller_id=data.draw(texts))
    return {("seller_id", "seller_mismatch")}


def nothing_is_requested(_: st.DataObject, case: Case) -> set[tuple[str, str]]:
    assume(case.process.review_type != "ACP")
    case.process = replace(case.process, requested_fields=())
    listed_nothing = {("requested_fields", "nothing_requested")}
    return listed_nothing | {(key, "unknown_key") for key in case.codes}


def another_field_is_requested(data: st.DataObject, case: Case) -> set[tuple[str, str]]:
    code = data.draw(names)
    assume(code not in case.payload)
    requested = (*case.process.requested_fields, code)
    case.process = replace(case.process, requested_fields=requested)
    return {(code, "missing")}


def a_field_is_not_requested(data: st.DataObject, case: Case) -> set[tuple[str, str]]:
    assume(case.process.review_type != "ACP")
    listed = case.process.requested_fields
    others = [
        known
        for known in KNOWN_FIELDS
        if not any(known == path or known.startswith(f"{path}.") for path in listed)
        and ("owner" not in known or case.payload["type"] == "business")
    ]
    assume(others)
    path = data.draw(st.sampled_from(others))
    put(case.payload, path, data.draw(VALUES[last(path)]))
    case.answers = answered(case.payload)
    return {(path, "not_requested")}


def an_answered_field(data: st.DataObject, case: Case) -> str:
    assume(case.answers)
    return data.draw(st.sampled_from(sorted(case.answers)))


def a_field_was_never_answered(data: st.DataObject, case: Case) -> set[tuple[str, str]]:
    path = an_answered_field(data, case)
    del case.answers[path]
    return {(path, "field_without_evidence")}


def a_later_answer_has_another_value(data: st.DataObject, case: Case) -> set[tuple[str, str]]:
    path = an_answered_field(data, case)
    value = data.draw(scalars)
    assume(repr(value) != repr(case.answers[path].value))
    later = replace(case.answers[path], value=value, answered_at=ANSWERED_AT + 1, seq=8)
    case.answers[path] = later
    return {(path, "field_without_evidence")}


def a_later_answer_has_another_source(data: st.DataObject, case: Case) -> set[tuple[str, str]]:
    path = an_answered_field(data, case)
    source = data.draw(st.sampled_from(["bureau", "database", "onboarding", "SELLER", ""]))
    later = replace(case.answers[path], source=source, answered_at=ANSWERED_AT + 1, seq=8)
    case.answers[path] = later
    return {(path, "source_not_seller")}


def an_answer_is_older_than_the_process(data: st.DataObject, case: Case) -> set[tuple[str, str]]:
    path = an_answered_field(data, case)
    too_early = data.draw(st.integers(0, OPENED_AT - 1))
    case.answers[path] = replace(case.answers[path], answered_at=too_early)
    return {(path, "evidence_before_request")}


MISTAKES: list[Mistake] = [
    a_needed_field_is_left_out,
    a_key_is_added,
    a_key_is_spelled_in_upper_case,
    a_value_is_wrong,
    a_revenue_is_a_number,
    an_individual_has_an_owner,
    the_type_is_wrong,
    an_identity_key_is_left_out,
    the_body_is_of_another_process,
    the_process_is_finished,
    the_process_has_no_event,
    the_process_is_of_another_seller,
    nothing_is_requested,
    another_field_is_requested,
    a_field_is_not_requested,
    a_field_was_never_answered,
    a_later_answer_has_another_value,
    a_later_answer_has_another_source,
    an_answer_is_older_than_the_process,
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
@given(data=st.data(), case=cases())
@settings(max_examples=settings.default.max_examples // depth.rounds(8, 5))
def test_one_mistake_is_named_at_its_path_and_nothing_else_is(
    mistake: Mistake, data: st.DataObject, case: Case
) -> None:
    expected = mistake(data, case)

    assert case.faults() == expected


WAIVED = {"process_unknown", "nothing_requested", "type_mismatch"}
EVIDENCE_RULES = {"field_without_evidence", "source_not_seller", "evidence_before_request"}


@given(data=st.data(), case=cases(), mistake=st.sampled_from(MISTAKES))
def test_a_warning_gate_and_an_override_let_through_what_rules_say_and_no_more(
    data: st.DataObject, case: Case, mistake: Mistake
) -> None:
    expected = mistake(data, case)

    def verdict(**changes: Any) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
        found = judge(case.payload, case.process, answers=case.answers, **changes)
        return named(found.violations), named(found.warnings)

    of_evidence = {it for it in expected if it[1] in EVIDENCE_RULES}
    waived = of_evidence | {it for it in expected if it[1] in WAIVED}
    assert verdict(evidence_gate="warn") == (expected - of_evidence, of_evidence)
    assert verdict(is_overridden=True) == (expected - waived, waived)
