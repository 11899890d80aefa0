"""Says why our own rules hold a submission back, by the rule (docs/rules.md#what-may-be-sent)."""

from collections.abc import Mapping
from typing import Final

from app_pages.language import code_texts, formats
from app_pages.language.i18n import N_, _
from pipeline.submit.rules import Violation

REASONS: Final[Mapping[str, str]] = {
    "process_unknown": N_("no event of the platform says what the review asks for"),
    "process_finished": N_("the review is finished already"),
    "process_mismatch": N_("it is of another review"),
    "seller_mismatch": N_("the review is about another seller"),
    "unknown_key": N_("the contract does not show this field"),
    "owner_on_individual": N_("an individual has no legal representative"),
    "type_mismatch": N_("the log knows the other type of seller"),
    "wrong_format": N_("the value is not in the form that the platform takes"),
    "numeric_revenue": N_("the platform takes a band, not a number"),
    "missing": N_("it is asked for, and the seller has not answered it"),
    "nothing_requested": N_("the platform's event asks for nothing"),
    "not_requested": N_("the platform did not ask for it"),
    "field_without_evidence": N_("no answer of the seller proves it"),
    "source_not_seller": N_("it does not come from the seller"),
    "evidence_before_request": N_("the seller answered it before the platform asked"),
    "retry_pending": N_("another payload waits for a retry, and may have been processed"),
    "not_confirmed": N_("the seller has answered it on their page, and not confirmed it yet"),
}
FORMS: Final[Mapping[str, str]] = {
    "revenue": N_("one of the platform's bands, such as 1000_to_5000"),
    "line1": N_("a text that is not empty"),
    "line2": N_("a text, which may be empty"),
    "line3": N_("a text that is not empty"),
    "city": N_("a text that is not empty"),
    "state": N_("two letters, such as SP"),
    "postal_code": N_("8 digits, without a mask"),
    "country_code": N_("a country's code of two capital letters, such as BR"),
}
"""What the contract says of a field's form, by the last key of its path."""
_NO_TYPE: Final = N_(
    "nobody knows whether the seller is an individual or a business: their journey has to ask it,"
    " or whoever sends it by a command says so"
)
"""It is not asked for by the platform, and no answer of the seller proves it."""


def reason(violation: Violation) -> str:
    """A violation as Markdown: the field, and what keeps it from being sent."""
    path, rule = violation.path, violation.rule
    why = _(_NO_TYPE) if (path, rule) == ("type", "missing") else code_texts.word(REASONS, rule)
    if rule == "wrong_format" and (form := FORMS.get(path.rpartition(".")[2])) is not None:
        why += f" ({_(form)})"
    return f"{formats.code(code_texts.masked(path))}: {why}"
