"""Every rule that can hold a submission back has its reason in words."""

from typing import get_args

from app_pages.language.refusals import REASONS
from pipeline.submit.rules import Rule


def test_every_rule_of_a_payload_and_both_of_what_is_ready_have_words() -> None:
    assert set(REASONS) == {*get_args(Rule), "retry_pending", "not_confirmed"}
