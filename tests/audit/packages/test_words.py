"""The report puts time and codes into words in both languages."""

import pytest

from pipeline.audit.package.words import WORDS


@pytest.mark.parametrize(
    ("seconds", "english", "portuguese"),
    [
        (3 * 86_400, "3 d left", "vence em 3 d"),
        (2 * 3600 + 7 * 60 + 5, "2 h 7 min left", "vence em 2 h 7 min"),
        (1, "1 s left", "vence em 1 s"),
        (0, "less than 1 s late", "menos de 1 s de atraso"),
        (-240, "4 min late", "4 min de atraso"),
        (-86_400, "1 d late", "1 d de atraso"),
    ],
)
def test_the_time_to_a_deadline_is_as_exact_as_it_is_near(
    seconds: int, english: str, portuguese: str
) -> None:
    assert WORDS["en"].time_left(seconds) == english
    assert WORDS["pt"].time_left(seconds) == portuguese


@pytest.mark.parametrize(
    "code",
    [
        "answer_lost",
        "attempt_without_start",
        "tls_refused",
        "unreadable_part",
        "status_after_deletion",
        "deleted_with_open",
        "ticket",
        "reminded",
        "calendar",
        "saved_view",
        "supply",
        "key_rotation",
    ],
)
def test_what_the_log_can_find_or_hold_has_words(code: str) -> None:
    for words in WORDS.values():
        assert words.get(code) != code
