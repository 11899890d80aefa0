"""Payloads that are right for their process, drawn by hypothesis from the contract's tables."""

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from pipeline.submit.demand import Process
from pipeline.submit.rules import Answer
from tests.submit.rules.builders import (
    ASKED_BY,
    BUSINESS_FIELDS,
    INDIVIDUAL_FIELDS,
    KNOWN_FIELDS,
    KNOWN_KEYS,
    WRONG_VALUES,
    acp,
    answered,
    faults,
    flat,
    put,
)

names = st.text("abcdefgh_çé", min_size=1, max_size=6).filter(lambda name: name not in KNOWN_KEYS)
texts = st.text(min_size=1, max_size=12).filter(lambda text: text.strip())
finite = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | finite | st.text(max_size=8)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
bands = st.tuples(st.integers(0, 10**9), st.integers(1, 10**6)).map(
    lambda pair: f"{pair[0]}_to_{pair[0] + pair[1]}"
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
        lambda pair: f"{pair[0] + pair[1]}_to_{pair[0]}"  # reversed, or equal
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
    needed: list[str]  # field paths of the contract
    codes: list[str]  # requested keys that the contract does not show

    def sent(self) -> list[str]:
        return [path for path, _ in flat(self.payload) if path not in ("process_id", "type")]

    def sent_known(self) -> list[str]:
        return [path for path in self.sent() if path in KNOWN_FIELDS]

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
    known = [it for it in (*KNOWN_FIELDS, *ASKED_BY) if "owner" not in it or seller_type[0] == "b"]
    requested += draw(st.lists(st.sampled_from(known), max_size=5, unique=True))
    if review_type == "ACP":
        needed = list(BUSINESS_FIELDS if seller_type == "business" else INDIVIDUAL_FIELDS)
        optional = [it for it in known if last(it) == "line2"]
    else:
        assume(requested)
        asked = [field for it in requested for field in ASKED_BY.get(it, (it,))]
        needed = [it for it in dict.fromkeys(asked) if it in KNOWN_FIELDS]
        optional = [
            path
            for path in known
            if last(path) == "line2"
            and any(path == listed or path.startswith(f"{listed}.") for listed in requested)
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


segments = st.sampled_from(
    ["revenue", "address", "owner", "line1", "line2", "city", "process_id", "type", "x", "y", ""]
)
paths = st.lists(segments, min_size=1, max_size=4).map(".".join).filter(bool)
