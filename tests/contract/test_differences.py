"""How two values differ is said where nobody sees it, and neither value is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.contract.differences import how_they_differ, in_words

APART = "Sa\u0303o"
"""São, its tilde a character of its own."""


@pytest.mark.parametrize(
    ("one", "other", "how"),
    [
        ("São", APART, ("composition",)),
        ("São ", "São", ("blanks",)),
        ("Rua\u00a0A", "Rua A", ("blanks",)),
        ("Rua A", "Rua\u200b A", ("blanks",)),
        ("são", "SÃO", ("case",)),
        ("São", "Sao", ("accents",)),
        ("50.030-230", "50030230", ("marks",)),
        ("５0030230", "50030230", ("width",)),
        ("rua a, 1", "Rua A 1", ("case", "marks")),
        (f"{APART} ", "São", ("composition", "blanks")),
        (1000, "1000", ("type",)),
        ("1000", 1000, ("type",)),
        ("true", True, ("type",)),
        (1, 1.0, ("number",)),
        # The same, or another value: nothing is said.
        ("São", "São", ()),
        ("Recife", "Olinda", ()),
        ("...", "---", ()),
        (1, True, ()),
        (1, 2, ()),
        ("1000", 2000, ()),
        (["a"], ["A"], ()),
        (None, "", ()),
    ],
)
def test_two_values_differ_in_what_nobody_sees(one, other, how):
    """An answer that a telephone had typed as "São" in another composition was "another value",
    and both looked the same to everybody."""
    assert how_they_differ(one, other) == how
    assert set(how_they_differ(other, one)) == set(how)


@given(st.text(max_size=12), st.text(max_size=12))
def test_any_two_texts_are_compared(one, other):
    assert bool(how_they_differ(one, other)) <= (one != other)


def test_it_is_said_in_a_sentence():
    assert in_words(("case", "blanks")) == (
        "upper and lower case and blanks or characters that nobody sees"
    )
    assert in_words(()) == ""
