"""Every code that is listed somewhere has a word, and the word its Portuguese."""

from collections.abc import Iterable, Mapping

import duckdb
import pytest

from pipeline.language import codes
from pipeline.ledger.views.catalogue import catalogue as views
from pipeline.log.entries import CHANNELS
from tests.language.test_catalogue import catalogue


def of_contract(kind: str) -> set[str]:
    """The codes of a kind that the contract lists."""
    sql = f"select code from ({views()['contract_codes'].sql}) where kind = $1"
    return {code for (code,) in duckdb.connect(":memory:").execute(sql, [kind]).fetchall()}


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        (of_contract("event type"), codes.EVENT_TYPES),
        (of_contract("review status"), codes.STATES),
        (of_contract("reason"), codes.REASONS),
        (of_contract("detail"), codes.DETAILS),
        (CHANNELS, codes.CHANNELS),
    ],
    ids=["event type", "status", "reason", "detail", "channel"],
)
def test_a_code_has_a_word_in_both_languages(
    listed: Iterable[str], words: Mapping[str, str]
) -> None:
    translated = catalogue()
    assert listed, "what lists them lists nothing"
    unnamed = [code for code in listed if code not in words or words[code] not in translated]
    assert unnamed == [], "name each in pipeline/language/codes.py"
