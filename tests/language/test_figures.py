"""Numbers as people read them."""

import pytest

from pipeline.language import figures


@pytest.mark.parametrize(
    ("numbers", "english", "portuguese"),
    [
        ((2.4, 0.9, 5.1), "2 (between 0 and 6)", "2 (entre 0 e 6)"),
        ((2.5, 2.0, 3.0), "3 (between 2 and 3)", "3 (entre 2 e 3)"),
        ((0.3, 0.0, 1.2), "fewer than 1 (between 0 and 2)", "menos de 1 (entre 0 e 2)"),
        ((3.0, 3.0000000001, 3.0), "3", "3"),
        ((0.0, 0.0, 0.0), "0", "0"),
        ((None, None, None), "–", "–"),
    ],
)
def test_no_part_of_a_review_is_expected_to_expire(
    numbers: tuple[float | None, ...], english: str, portuguese: str
) -> None:
    week = dict(zip(("expected", "expected_low", "expected_high"), numbers, strict=True))
    assert figures.expected(week, "en") == english
    assert figures.expected(week, "pt") == portuguese
