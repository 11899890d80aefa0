"""Every rule that can hold a submission back has its reason in words."""

from typing import get_args

from app_pages.language.refusals import FORMS, REASONS
from pipeline.contract import fields
from pipeline.submit.rules import Rule


def test_every_rule_of_a_payload_and_both_of_what_is_ready_have_words() -> None:
    assert set(REASONS) == {*get_args(Rule), "retry_pending", "not_confirmed"}


def test_each_field_of_the_contract_has_its_form_in_words():
    assert FORMS.keys() == {path.rpartition(".")[2] for path in fields.FORMATS}
