"""What a browser refuses by itself is never what the page takes."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.journey import form
from pipeline.journey.form import PATTERNS, Field, Question

TYPED = st.text(st.sampled_from("0123456789.,- Rr$aé\t\u00a0\u200b\u202a"), max_size=24)


def fault(kind: form.Kind, path: str, **typed: str) -> str | None:
    question = Question("one", (Field(path, kind, True),))
    return form.read(question, typed, None).faults.get(path)


@given(TYPED)
def test_a_postal_code_that_is_taken_fits_its_pattern_and_another_of_such_characters_does_not(
    typed: str,
) -> None:
    fits = re.fullmatch(PATTERNS["postal_code"], typed) is not None
    assert fits == (fault("postal_code", "address.postal_code", f0=typed) is None)


@given(TYPED)
def test_an_amount_that_is_taken_fits_its_pattern(typed: str) -> None:
    if fault("band", "revenue", f0_from=typed, f0_to="9" * 18) in (None, "order"):
        assert re.fullmatch(PATTERNS["band"], typed)


@pytest.mark.parametrize(
    "typed",
    [
        "1000.00",
        "1.5",
        "1.0000",
        ".5",
        "1..000",
        "12 00",
        "10.00 0",
        "1,000",
        "1.000,0",
        "1,000.00",
    ],
)
def test_an_amount_that_can_be_read_in_two_ways_is_refused(typed: str) -> None:
    assert fault("band", "revenue", f0_from=typed, f0_to="9" * 18) == "amount"


@pytest.mark.parametrize("typed", ["1.000,50", "1000,01", ",00", "1.000,00,00", "1.000,00 0"])
def test_cents_are_never_dropped(typed: str) -> None:
    assert fault("band", "revenue", f0_from=typed, f0_to="9" * 18) == "amount"


@pytest.mark.parametrize("typed", ["", " ", "R$", "r$ "])
def test_a_currency_without_an_amount_is_missing_it(typed: str) -> None:
    assert fault("band", "revenue", f0_from=typed, f0_to="9" * 18) == "missing"


@pytest.mark.parametrize(
    "typed",
    [
        "1000",
        "1.000",
        "R$ 1 000",
        "R$\u00a01.000",
        "1000,00",
        "1.000,00",
        "R$ 1.000,00",
        "r$1000,00 ",
    ],
)
def test_an_amount_is_taken_as_brazilians_write_it(typed: str) -> None:
    """A seller who wrote "5.000,00", as every price tag does, was told to use whole numbers."""
    question = Question("one", (Field("revenue", "band", True),))
    read = form.read(question, {"f0_from": typed, "f0_to": "2000"}, None)
    assert read.values == {"revenue": "1000_to_2000"}


@given(TYPED)
def test_a_line_that_is_taken_fits_its_pattern(typed: str) -> None:
    if fault("line", "address.city", f0=typed) is None:
        assert re.fullmatch(PATTERNS["line"], typed)


def test_near_misses() -> None:
    assert re.fullmatch(PATTERNS["postal_code"], "01310-10") is None
    assert re.fullmatch(PATTERNS["band"], "R$ 1.000")
    assert re.fullmatch(PATTERNS["band"], "R$ 1.000,00")
    assert re.fullmatch(PATTERNS["band"], "1,5") is None
    assert re.fullmatch(PATTERNS["band"], "1.000,50") is None
    assert re.fullmatch(PATTERNS["line"], "   ") is None
