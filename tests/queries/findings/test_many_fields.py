"""Payloads of many fields and of odd ones are judged as the oracle judges them, and in one pass."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import oracle
from tests.support.ledgers import asked, ledger_of, rows
from tests.support.lines import aci, acp, at, finished, started

AS_OF = at("2026-03-03T00:00:00")
RULES = ("acp_incomplete", "aci_extra_field")
REVIEWS = {"ACP": acp, "ACI": aci}

names = st.sampled_from(["a", "b", "a.b", "address", "line1", "line2", "owner", "revenue", "0"])
values = st.none() | st.just("x") | st.just({}) | st.just([])
bodies = st.dictionaries(
    names, st.recursive(values, lambda inner: st.dictionaries(names, inner, max_size=3)), max_size=4
)
paths = st.lists(st.lists(names, min_size=1, max_size=3).map(".".join), max_size=6)


def broken(found: list[dict[str, Any]]) -> list[tuple[str, int, str]]:
    return sorted((row["rule"], row["seq"], row["detail"]) for row in found if row["rule"] in RULES)


@pytest.mark.parametrize("review", REVIEWS)
@settings(max_examples=settings.default.max_examples // 20)
@given(requested=paths, body=bodies)
def test_fields_with_names_in_common_are_judged_as_the_oracle_judges_them(
    review: str, requested: list[str], body: dict[str, Any]
) -> None:
    """A path covers what is below it, and not what only begins alike; a null is not a value."""
    sent = {"process_id": "p1", "type": "individual", **body}
    history = [REVIEWS[review]("e1", requested_fields=requested), started(body=sent), finished()]
    expected = broken(oracle.rows("findings", history, AS_OF))
    assert broken(asked(history, "findings", AS_OF)) == expected


@pytest.mark.parametrize("review", REVIEWS)
def test_ten_thousand_fields_are_judged_within_the_memory_of_a_small_ledger(review: str) -> None:
    """Each was compared with each: eight thousand stalled this ledger for want of memory, twenty
    thousand took minutes. The oracle still compares so, and is left out."""
    requested = [f"other.f{number:05}" for number in range(10_000)]
    sent = {"other": {f"f{number:05}": "x" for number in range(1, 10_001)}}
    body = {"process_id": "p1", "type": "individual", "revenue": "1000_to_5000", **sent}
    history = [
        REVIEWS[review]("e1", requested_fields=["revenue", *requested]),
        started(body=body),
    ]
    with ledger_of(history) as reader:
        found = broken(rows(reader, "findings", AS_OF))
    if review == "ACP":
        assert found == [
            (
                "acp_incomplete",
                2,
                "address.city, address.country_code, address.line1, address.line3,"
                " address.postal_code, address.state, other.f00000",
            )
        ]
    else:
        assert found == [("aci_extra_field", 2, "other.f10000")]
