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
_NO_TYPE: Final = N_(
    "nobody knows whether the seller is an individual or a business: their journey has to ask it,"
    " or whoever sends it by a command says so"
)
"""It is not asked for by the platform, and no answer of the seller proves it."""


def reason(violation: Violation) -> str:
    """A violation as Markdown: the field, and what keeps it from being sent."""
    is_type = (violation.path, violation.rule) == ("type", "missing")
    why = _(_NO_TYPE) if is_type else code_texts.word(REASONS, violation.rule)
    return f"{formats.code(violation.path)}: {why}"
