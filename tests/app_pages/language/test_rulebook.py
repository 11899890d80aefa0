"""The rules that pages explain are those that the report names."""

import pytest

from app_pages.language.rulebook import RULES
from pipeline.audit.package.words import WORDS


@pytest.mark.parametrize("language", WORDS)
def test_the_report_has_a_name_for_every_rule_of_the_rulebook(language: str) -> None:
    unnamed = [rule for rule in RULES if rule not in WORDS[language].words]
    assert unnamed == []
