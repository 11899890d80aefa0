"""What may be sent: rules.md section 4, by example and by property.

The properties start from payloads that are right for their process, drawn from the tables below
(written by hand from the contract), and make one mistake at a time: each must be named at its own
path with its own rule, and nothing else may be.
"""

import copy
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pipeline.rules import Answer, Process, Verdict, Violation, check

OPENED_AT = 1_772_323_200_000_000  # 2026-03-01T00:00:00Z
ANSWERED_AT = 1_772_402_400_000_000  # 2026-03-01T22:00:00Z

ADDRESS_LEAVES = ("line1", "line3", "city", "state", "postal_code", "country_code")
ASKED_BY = {
    "address": tuple(f"address.{it}" for it in ADDRESS_LEAVES),
    "owner.address": tuple(f"owner.address.{it}" for it in ADDRESS_LEAVES),
    "owner": ("owner.revenue", *(f"owner.address.{it}" for it in ADDRESS_LEAVES)),
    "address.line2": (),
    "owner.address.line2": (),
}
INDIVIDUAL_LEAVES = ("revenue", *ASKED_BY["address"])
BUSINESS_LEAVES = (*INDIVIDUAL_LEAVES, *ASKED_BY["owner"])
KNOWN_LEAVES = (*BUSINESS_LEAVES, "address.line2", "owner.address.line2")
KNOWN_KEYS = frozenset(key for path in KNOWN_LEAVES for key in path.split(".")) | {
    "process_id",
    "type",
}

ADDRESS = {
    "line1": "Rua das Laranjeiras, 123",
    "line3": "Boa Viagem",
    "city": "Recife",
    "state": "PE",
    "postal_code": "51020000",
    "country_code": "BR",
}
INDIVIDUAL = {
    "process_id": "rev_1",
    "type": "individual",
    "revenue": "1000_to_5000",
    "address": ADDRESS,
}
BUSINESS = {
    **INDIVIDUAL,
    "type": "business",
    "owner": {"revenue": "2000_to_3000", "address": {**ADDRESS}},
}


def acp(*requested: str, **changes: Any) -> Process:
    return replace(Process("rev_1", "sel_1", "ACP", "PENDING", OPENED_AT, requested), **changes)


def aci(*requested: str, **changes: Any) -> Process:
    return replace(Process("rev_1", "sel_1", "ACI", "OVERDUE", OPENED_AT, requested), **changes)


def aci_body(**fields: Any) -> dict[str, Any]:
    return {"process_id": "rev_1", "type": "individual", **fields}


def answered(payload: Any) -> dict[str, Answer]:
    """The seller answered every leaf of the payload, in this process, as it stands."""
    return {
        path: Answer(value, "seller", ANSWERED_AT, seq=7)
        for path, value in flat(payload)
        if path not in ("process_id", "type")
    }


def flat(record: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        if isinstance(value, dict) and value:
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def put(record: dict[str, Any], path: str, value: Any) -> None:
    """Sets a nested value; what stands in the way of an object becomes one."""
    *parents, last = path.split(".")
    for key in parents:
        if not isinstance(record.get(key), dict):
            record[key] = {}
        record = record[key]
    record[last] = value


def drop(record: dict[str, Any], path: str) -> None:
    """Takes a leaf out, and the objects that it leaves empty."""
    key, _, rest = path.partition(".")
    if rest:
        drop(record[key], rest)
    if not rest or not record[key]:
        del record[key]


def judge(payload: Any, process: Process | None, **changes: Any) -> Verdict:
    """The verdict on a payload whose every leaf the seller answered, unless `changes` say so."""
    answers = changes.pop("answers", None)
    call: dict[str, Any] = {
        "process_id": "rev_1",
        "seller_id": "sel_1",
        "evidence_gate": "block",
        "allow_numeric_revenue": False,
    }
    answers = answered(payload) if answers is None else answers
    return check(payload, process, answers, **{**call, **changes})


def named(violations: tuple[Violation, ...]) -> set[tuple[str, str]]:
    assert len({(it.path, it.rule) for it in violations}) == len(violations), "named twice"
    return {(it.path, it.rule) for it in violations}


def faults(payload: Any, process: Process | None, **changes: Any) -> set[tuple[str, str]]:
    verdict = judge(payload, process, **changes)
    assert verdict.warnings == ()
    return named(verdict.violations)


def with_(payload: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(payload)
    put(changed, path, value)
    return changed


def without(payload: dict[str, Any], path: str) -> dict[str, Any]:
    changed = copy.deepcopy(payload)
    drop(changed, path)
    return changed


# --- by example: who answers what ------------------------------------------------------------


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
def test_a_body_that_is_no_object_is_refused(payload: object) -> None:
    assert faults(payload, acp(), answers={}) == {("body", "wrong_format")}


# --- by example: keys ------------------------------------------------------------------------


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


def test_a_dotted_path_is_no_key_though_it_is_requested_and_answered() -> None:
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


def test_an_unknown_leaf_of_the_address_may_be_requested() -> None:
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


def test_a_leaf_of_the_contract_becomes_an_object_where_a_path_below_it_is_requested() -> None:
    process = aci("revenue.lower", "revenue.upper")

    assert faults(aci_body(revenue={"lower": 1000, "upper": 5000}), process) == set()
    assert faults(aci_body(revenue="1000_to_5000"), process) == {
        ("revenue", "wrong_format"),
        ("revenue.lower", "missing"),
        ("revenue.upper", "missing"),
    }


def test_a_path_below_process_id_or_type_asks_for_nothing_since_it_cannot_be_answered() -> None:
    assert faults(aci_body(), aci("process_id.issuer", "type.code")) == set()


# --- by example: formats ---------------------------------------------------------------------


@pytest.mark.parametrize("band", ["0_to_1", "1000_to_5000", "999_to_1000", "5_to_1" + "0" * 17])
def test_a_band_has_a_lower_and_a_higher_whole_number(band: str) -> None:
    assert faults(with_(BUSINESS, "revenue", band), acp()) == set()
    assert faults(with_(BUSINESS, "owner.revenue", band), acp()) == set()


@pytest.mark.parametrize(
    "band",
    [
        *("5000_to_1000", "1000_to_1000", "1000.00_to_5000.00", "1,000_to_5,000", "-5_to_10"),
        *("+5_to_10", "1000 to 5000", "1000-5000", "1000_to_", "_to_5000", "_to_", "1_to_2_to_3"),
        *(" 1_to_2", "1_to_2\n", "1_TO_2", "R$1_to_R$2", "1e3_to_5e3", "١_to_٢", "²_to_³"),
        *("", "5000", "1_to_1" + "0" * 18, [], {}, None, True, ["1_to_2"]),
    ],
)
def test_anything_else_is_no_band(band: object) -> None:
    assert faults(with_(BUSINESS, "revenue", band), acp()) == {("revenue", "wrong_format")}
    assert faults(with_(BUSINESS, "owner.revenue", band), acp()) == {
        ("owner.revenue", "wrong_format")
    }


@pytest.mark.parametrize("number", [0, 4200, 4200.5, -1])
def test_a_number_as_revenue_is_refused_unless_the_setting_allows_it(number: float) -> None:
    for path in ("revenue", "owner.revenue"):
        payload = with_(BUSINESS, path, number)
        assert faults(payload, acp()) == {(path, "numeric_revenue")}
        assert faults(payload, acp(), allow_numeric_revenue=True) == set()


def test_the_setting_for_numbers_lets_through_numbers_in_revenue_alone() -> None:
    for path, value in [
        ("revenue", True),
        ("revenue", "4200"),
        ("revenue", None),
        ("address.postal_code", 51020000),
    ]:
        payload = with_(INDIVIDUAL, path, value)
        assert faults(payload, acp(), allow_numeric_revenue=True) == {(path, "wrong_format")}


NOT_TEXT = [None, True, 51020000, 1.5, [], ["PE"], {}, {"name": "Recife"}]
WRONG_VALUES = {
    "line1": ["", " ", "\t\n", *NOT_TEXT],
    "line2": ["", " ", *NOT_TEXT],
    "line3": ["", " ", *NOT_TEXT],
    "city": ["", " ", *NOT_TEXT],
    "state": ["", "P", "PER", "P1", "P ", "Pé", "12", *NOT_TEXT],
    "postal_code": [
        *("", "51020-000", "51.020-000", "5102000", "510200000", "5102000O", "51020000 "),
        *("٥١٠٢٠٠٠٠", "5102000²", *NOT_TEXT),
    ],
    "country_code": ["", "br", "Br", "BRA", "B", "XX", "ZZ", "UK", "EU", "076", "BR ", *NOT_TEXT],
}


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in WRONG_VALUES.items() for value in values]
)
def test_a_wrong_address_value_is_named_at_its_own_path(key: str, value: object) -> None:
    for parent in ("address", "owner.address"):
        path = f"{parent}.{key}"
        assert faults(with_(BUSINESS, path, value), acp()) == {(path, "wrong_format")}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("state", "sp"), ("postal_code", "00000000"), ("country_code", "AX")),
        *(("country_code", "US"), ("line2", "ap 4"), ("city", "São Luís"), ("line1", "0")),
    ],
)
def test_right_address_values(key: str, value: str) -> None:
    assert faults(with_(INDIVIDUAL, f"address.{key}", value), acp()) == set()


@pytest.mark.parametrize("value", ["Rua das Laranjeiras, 123", None, [], 7, {}])
def test_an_address_is_an_object_and_lacks_everything_otherwise(value: object) -> None:
    assert faults({**INDIVIDUAL, "address": value}, acp()) == {
        ("address", "wrong_format"),
        *((path, "missing") for path in ASKED_BY["address"]),
    }


# --- by example: completeness ----------------------------------------------------------------


@pytest.mark.parametrize("path", BUSINESS_LEAVES)
def test_an_acp_of_a_business_lacks_nothing(path: str) -> None:
    assert faults(without(BUSINESS, path), acp()) == {(path, "missing")}


@pytest.mark.parametrize("path", INDIVIDUAL_LEAVES)
def test_an_acp_of_an_individual_lacks_nothing(path: str) -> None:
    assert faults(without(INDIVIDUAL, path), acp()) == {(path, "missing")}


def test_an_individual_has_no_owner_in_either_kind_of_review() -> None:
    assert faults({**BUSINESS, "type": "individual"}, acp()) == {("owner", "owner_on_individual")}
    payload = aci_body(owner={"revenue": "1_to_2"})
    assert faults(payload, aci("owner.revenue")) == {("owner", "owner_on_individual")}


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


def test_a_review_of_a_type_the_contract_does_not_list_is_answered_as_an_aci() -> None:
    process = aci("revenue", review_type=None)

    assert faults(aci_body(revenue="1_to_2"), process) == set()
    assert faults(aci_body(revenue="1_to_2", address={"city": "Recife"}), process) == {
        ("address.city", "not_requested")
    }
    assert faults(INDIVIDUAL, aci(review_type=None)) == {("requested_fields", "nothing_requested")}


# --- by example: evidence --------------------------------------------------------------------


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
        # one reason a leaf, the first that holds
        (revenue_answer(value="1_to_3", source="bureau"), "field_without_evidence"),
        (revenue_answer(source="bureau", answered_at=OPENED_AT - 1), "source_not_seller"),
    ],
)
def test_a_leaf_without_proper_evidence_is_refused_or_sent_as_a_finding(
    answers: dict[str, Answer], rule: str
) -> None:
    assert faults(REVENUE, aci("revenue"), answers=answers) == {("revenue", rule)}

    warned = judge(REVENUE, aci("revenue"), answers=answers, evidence_gate="warn")
    overridden = judge(REVENUE, aci("revenue"), answers=answers, is_overridden=True)
    for verdict in (warned, overridden):
        assert not verdict.is_refused
        assert named(verdict.warnings) == {("revenue", rule)}


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


def test_every_leaf_of_a_requested_object_needs_its_own_evidence() -> None:
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


# --- by example: overrides -------------------------------------------------------------------


def test_an_override_sends_for_an_unknown_process_and_says_so() -> None:
    verdict = judge(INDIVIDUAL, None, answers={}, is_overridden=True)

    assert verdict.violations == ()
    assert named(verdict.warnings) == {
        ("process_id", "process_unknown"),
        *((path, "field_without_evidence") for path in INDIVIDUAL_LEAVES),
    }


def test_an_override_waives_nothing_but_the_evidence_and_the_unknown_process() -> None:
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
    assert judge(INDIVIDUAL, aci(), is_overridden=True).is_refused


def test_a_warning_gate_does_not_open_the_way_for_an_unknown_process() -> None:
    assert judge(INDIVIDUAL, None, evidence_gate="warn").is_refused


# --- by example: words -----------------------------------------------------------------------


def test_a_violation_says_what_is_wrong_what_is_right_and_where_the_contract_says_so() -> None:
    verdict = judge(with_(INDIVIDUAL, "address.postal_code", "51020-000"), acp())

    assert str(verdict.violations[0]) == (
        "address.postal_code: found a string of 9 characters (digits: 8, others: 1); "
        "expected a string of 8 digits without a mask (Errors, field validations)"
    )


def test_an_old_answer_is_named_by_its_entry_and_both_instants() -> None:
    answers = revenue_answer(answered_at=OPENED_AT - 1)

    verdict = judge(REVENUE, aci("revenue"), answers=answers)

    assert verdict.violations[0].found == (
        "a latest answer of 2026-02-28T23:59:59.999999Z (entry 7), "
        "older than the process, opened at 2026-03-01T00:00:00Z"
    )


def test_country_codes_are_loaded_by_the_first_submission_and_not_by_the_import() -> None:
    """Importing pycountry takes a tenth of a second, which every command would pay at its start."""
    program = "import sys, pipeline.rules; sys.exit('pycountry' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


# --- by property: payloads that are right ----------------------------------------------------

names = st.text("abcdefgh_çé", min_size=1, max_size=6).filter(lambda it: it not in KNOWN_KEYS)
texts = st.text(min_size=1, max_size=12).filter(lambda it: it.strip())
finite = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | finite | st.text(max_size=8)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
bands = st.tuples(st.integers(0, 10**9), st.integers(1, 10**6)).map(
    lambda it: f"{it[0]}_to_{it[0] + it[1]}"
)
VALUES = {
    "revenue": bands,
    "line1": texts,
    "line2": texts,
    "line3": texts,
    "city": texts,
    "state": st.text("ABCPRSabcprs", min_size=2, max_size=2),
    "postal_code": st.text("0123456789", min_size=8, max_size=8),
    "country_code": st.sampled_from(["BR", "US", "PT", "AR", "PY", "UY", "JP"]),
}
WRONG = {
    **{key: st.sampled_from(values) for key, values in WRONG_VALUES.items()},
    "revenue": st.sampled_from(["", "1_to", "5000", "1.5_to_2.5", None, True, [], {}])
    | st.tuples(st.integers(0, 10**9), st.integers(0, 10**6)).map(
        lambda it: f"{it[0] + it[1]}_to_{it[0]}"  # reversed, or equal
    ),
}


def last(path: str) -> str:
    return path.rpartition(".")[2]


@dataclass
class Case:
    """A payload that is right for its process, and everything that makes it so."""

    payload: dict[str, Any]
    process: Process
    answers: dict[str, Answer]
    needed: list[str]  # leaf paths of the contract
    codes: list[str]  # requested keys that the contract does not show

    def sent(self) -> list[str]:
        return [path for path, _ in flat(self.payload) if path not in ("process_id", "type")]

    def sent_known(self) -> list[str]:
        return [path for path in self.sent() if path in KNOWN_LEAVES]

    def faults(self) -> set[tuple[str, str]]:
        return faults(self.payload, self.process, answers=self.answers)


@st.composite
def codes(draw: st.DrawFn) -> tuple[dict[str, Any], list[str]]:
    """Requested data that the contract does not show, and paths that ask for it."""
    data = draw(st.dictionaries(names, json_values, max_size=3))
    requested = []
    for key, value in data.items():
        below = isinstance(value, dict) and value and draw(st.booleans())
        requested += [f"{key}.{it}" for it in value] if below else [key]
    return data, requested


@st.composite
def cases(draw: st.DrawFn, *review_types: str | None) -> Case:
    review_type = draw(st.sampled_from(review_types or ("ACP", "ACI", None)))
    data, requested = draw(codes())
    seller_type = draw(st.sampled_from(["individual", "business"]))
    known = [it for it in (*KNOWN_LEAVES, *ASKED_BY) if "owner" not in it or seller_type[0] == "b"]
    requested += draw(st.lists(st.sampled_from(known), max_size=5, unique=True))
    if review_type == "ACP":
        needed = list(BUSINESS_LEAVES if seller_type == "business" else INDIVIDUAL_LEAVES)
        optional = [it for it in known if last(it) == "line2"]
    else:
        assume(requested)
        asked = [leaf for it in requested for leaf in ASKED_BY.get(it, (it,))]
        needed = [it for it in dict.fromkeys(asked) if it in KNOWN_LEAVES]
        optional = [
            it
            for it in known
            if last(it) == "line2"
            and any(it == listed or it.startswith(f"{listed}.") for listed in requested)
        ]
    payload: dict[str, Any] = {"process_id": "rev_1", "type": seller_type, **data}
    for path in (*needed, *dict.fromkeys(it for it in optional if draw(st.booleans()))):
        put(payload, path, draw(VALUES[last(path)]))
    process = replace(
        draw(st.sampled_from([acp(), acp(state="OVERDUE"), acp(state="EXPIRED")])),
        review_type=review_type,
        requested_fields=tuple(draw(st.permutations(requested))),
    )
    return Case(payload, process, answered(payload), needed, list(data))


@given(cases())
@settings(deadline=None)
def test_every_right_payload_passes(case: Case) -> None:
    assert case.faults() == set()


segments = st.sampled_from(
    ["revenue", "address", "owner", "line1", "line2", "city", "process_id", "type", "x", "y", ""]
)
paths = st.lists(segments, min_size=1, max_size=4).map(".".join).filter(bool)


@given(st.lists(paths, min_size=1, max_size=8), st.sampled_from(["ACP", "ACI", None]))
@settings(deadline=None, max_examples=150)
def test_no_process_is_impossible_to_answer(requested: list[str], review_type: str | None) -> None:
    """Whatever a platform lists, paths below leaves and empty keys too, some payload passes."""
    full = ["revenue", "address", "owner"] if review_type == "ACP" else []
    asked = [
        leaf
        for it in (*full, *requested)
        if it.split(".")[0] not in ("process_id", "type")
        for leaf in ASKED_BY.get(it, (it,))
    ]
    right = dict(flat(BUSINESS))
    payload: dict[str, Any] = {"process_id": "rev_1", "type": "business"}
    for path in sorted(set(asked), key=lambda it: it.count(".")):
        put(payload, path, right.get(path, 1))

    process = aci(*requested, review_type=review_type)

    assert faults(payload, process) == set()


# --- by property: one mistake at a time ------------------------------------------------------

Mistake = Callable[[st.DataObject, Case], set[tuple[str, str]]]
"""Spoils a case in one way and returns what must be named."""


def a_needed_leaf_is_left_out(data: st.DataObject, case: Case) -> set[tuple[str, str]]:
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
        it
        for it in KNOWN_LEAVES
        if not any(it == path or it.startswith(f"{path}.") for path in listed)
        and ("owner" not in it or case.payload["type"] == "business")
    ]
    assume(others)
    path = data.draw(st.sampled_from(others))
    put(case.payload, path, data.draw(VALUES[last(path)]))
    case.answers = answered(case.payload)
    return {(path, "not_requested")}


def an_answered_leaf(data: st.DataObject, case: Case) -> str:
    assume(case.answers)
    return data.draw(st.sampled_from(sorted(case.answers)))


def a_leaf_was_never_answered(data: st.DataObject, case: Case) -> set[tuple[str, str]]:
    path = an_answered_leaf(data, case)
    del case.answers[path]
    return {(path, "field_without_evidence")}


def a_later_answer_has_another_value(data: st.DataObject, case: Case) -> set[tuple[str, str]]:
    path = an_answered_leaf(data, case)
    value = data.draw(scalars)
    assume(repr(value) != repr(case.answers[path].value))
    later = replace(case.answers[path], value=value, answered_at=ANSWERED_AT + 1, seq=8)
    case.answers[path] = later
    return {(path, "field_without_evidence")}


def a_later_answer_has_another_source(data: st.DataObject, case: Case) -> set[tuple[str, str]]:
    path = an_answered_leaf(data, case)
    source = data.draw(st.sampled_from(["bureau", "database", "onboarding", "SELLER", ""]))
    later = replace(case.answers[path], source=source, answered_at=ANSWERED_AT + 1, seq=8)
    case.answers[path] = later
    return {(path, "source_not_seller")}


def an_answer_is_older_than_the_process(data: st.DataObject, case: Case) -> set[tuple[str, str]]:
    path = an_answered_leaf(data, case)
    too_early = data.draw(st.integers(0, OPENED_AT - 1))
    case.answers[path] = replace(case.answers[path], answered_at=too_early)
    return {(path, "evidence_before_request")}


MISTAKES: list[Mistake] = [
    a_needed_leaf_is_left_out,
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
    a_leaf_was_never_answered,
    a_later_answer_has_another_value,
    a_later_answer_has_another_source,
    an_answer_is_older_than_the_process,
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda it: it.__name__)
@given(data=st.data(), case=cases())
@settings(deadline=None, max_examples=40)
def test_one_mistake_is_named_at_its_path_and_nothing_else_is(
    mistake: Mistake, data: st.DataObject, case: Case
) -> None:
    expected = mistake(data, case)

    assert case.faults() == expected


EVIDENCE_RULES = {"field_without_evidence", "source_not_seller", "evidence_before_request"}


@given(data=st.data(), case=cases(), mistake=st.sampled_from(MISTAKES))
@settings(deadline=None)
def test_a_warning_gate_and_an_override_let_through_what_rules_say_and_no_more(
    data: st.DataObject, case: Case, mistake: Mistake
) -> None:
    expected = mistake(data, case)

    def verdict(**changes: Any) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
        found = judge(case.payload, case.process, answers=case.answers, **changes)
        return named(found.violations), named(found.warnings)

    of_evidence = {it for it in expected if it[1] in EVIDENCE_RULES}
    unknown = {it for it in expected if it[1] == "process_unknown"}
    assert verdict(evidence_gate="warn") == (expected - of_evidence, of_evidence)
    assert verdict(is_overridden=True) == (expected - of_evidence - unknown, of_evidence | unknown)


# --- by property: anything at all ------------------------------------------------------------

GREEK = st.text("αβγδεζηθικλμνξοπρστυφχψω", min_size=1, max_size=9)
greek_json = st.recursive(
    GREEK, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(segments, inner, max_size=4)
)


@given(
    payload=st.dictionaries(st.sampled_from([*sorted(KNOWN_KEYS), "x", "street"]), greek_json),
    address=st.none() | st.dictionaries(st.sampled_from([*ADDRESS, "street", "line2"]), greek_json),
    process=st.sampled_from([None, acp(), aci(), aci("revenue", "address", "x"), aci("owner")]),
    answer=GREEK,
)
@settings(deadline=None, max_examples=150)
def test_no_text_repeats_a_value_of_the_payload_or_of_an_answer(
    payload: dict[str, Any], address: Any, process: Process | None, answer: str
) -> None:
    if address is not None:
        payload |= {"address": address, "owner": {"address": address}}
    proofs = {
        path: Answer(answer, answer, ANSWERED_AT, seq=7) for path in (*KNOWN_LEAVES, "x", "x.x")
    }

    verdict = judge(payload, process, answers=proofs)

    assert verdict.is_refused  # its type is Greek, if it has one
    for violation in (*verdict.violations, *verdict.warnings):
        assert not set(str(violation)) & set("αβγδεζηθικλμνξοπρστυφχψω")


@given(
    payload=json_values,
    requested=st.lists(paths, max_size=4),
    review_type=st.sampled_from(["ACP", "ACI", None]),
)
@settings(deadline=None)
def test_any_json_gets_a_verdict(
    payload: Any, requested: list[str], review_type: str | None
) -> None:
    verdict = judge(payload, aci(*requested, review_type=review_type), answers={})

    assert verdict.is_refused  # none of them names its process
