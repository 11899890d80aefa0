"""Every code that is listed somewhere has a word, and the word its Portuguese."""

import re
from collections.abc import Iterable, Mapping

import pytest

from pipeline import headers
from pipeline.contract import review_types
from pipeline.contract.listed import KINDS
from pipeline.language import codes
from pipeline.serve.roles import Role
from tests.language.test_catalogue import catalogue


def outcomes() -> list[str]:
    """All that the end of an attempt can mean."""
    macros = (headers.QUERIES / "macros.sql").read_text(encoding="utf-8")
    return re.findall(r"'(\w+)'", macros.partition("macro outcome_of(")[2].partition(";")[0])


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        (KINDS["event type"], codes.EVENT_TYPES),
        (review_types.NAMES, codes.REVIEW_TYPES),
        (review_types.NAMES, codes.REVIEWS_TO_SELLERS),
        (KINDS["review status"], codes.STATES),
        (KINDS["reason"], codes.REASONS),
        (KINDS["detail"], codes.DETAILS),
        (outcomes(), codes.OUTCOMES),
        (Role, codes.ROLES),
    ],
    ids=[
        "event type",
        "review type",
        "to sellers",
        "status",
        "reason",
        "detail",
        "outcome",
        "role",
    ],
)
def test_a_code_has_a_word_in_both_languages(
    listed: Iterable[str], words: Mapping[str, str]
) -> None:
    translated = catalogue()
    assert listed, "what lists them lists nothing"
    unnamed = [code for code in listed if code not in words or words[code] not in translated]
    assert unnamed == [], "name each in pipeline/language/codes.py"
