"""What holds for every payload and every process, by property."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.submit.demand import Process
from pipeline.submit.rules import Answer
from tests.submit.rules.builders import (
    ADDRESS,
    ANSWERED_AT,
    ASKED_BY,
    BUSINESS,
    KNOWN_FIELDS,
    KNOWN_KEYS,
    aci,
    acp,
    faults,
    flat,
    judge,
    put,
)
from tests.submit.rules.cases import json_values, paths, segments


@given(st.lists(paths, min_size=1, max_size=8), st.sampled_from(["ACP", "ACI", None]))
@settings(max_examples=settings.default.max_examples * 3 // 2)
def test_no_process_is_impossible_to_answer(requested: list[str], review_type: str | None) -> None:
    """Whatever a platform lists, paths below fields and empty keys too, some payload passes."""
    full = ["revenue", "address", "owner"] if review_type == "ACP" else []
    asked = [
        field
        for path in (*full, *requested)
        if path.split(".")[0] not in ("process_id", "type")
        for field in ASKED_BY.get(path, (path,))
    ]
    right = dict(flat(BUSINESS))
    payload: dict[str, Any] = {"process_id": "rev_1", "type": "business"}
    for path in sorted(set(asked), key=lambda field: field.count(".")):
        put(payload, path, right.get(path, 1))

    process = aci(*requested, review_type=review_type)

    assert faults(payload, process) == set()


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
@settings(max_examples=settings.default.max_examples * 3 // 2)
def test_no_text_repeats_a_value_of_the_payload_or_of_an_answer(
    payload: dict[str, Any], address: Any, process: Process | None, answer: str
) -> None:
    if address is not None:
        payload |= {"address": address, "owner": {"address": address}}
    proofs = {
        path: Answer(answer, answer, ANSWERED_AT, seq=7) for path in (*KNOWN_FIELDS, "x", "x.x")
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
def test_any_json_gets_a_verdict(
    payload: Any, requested: list[str], review_type: str | None
) -> None:
    verdict = judge(payload, aci(*requested, review_type=review_type), answers={})

    assert verdict.is_refused  # none of them names its process
