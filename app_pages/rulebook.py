"""What each finding means, what it may cost, and what to do about it (rules.md section 6)."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from app_pages import formats
from app_pages.i18n import N_, _
from app_pages.words import Colour

SEVERITIES: Final[Mapping[str, str]] = {
    "breach": N_("Breach"),
    "risk": N_("Risk"),
    "notice": N_("Notice"),
}
SEVERITY_COLOURS: Final[Mapping[str, Colour]] = {
    "breach": "red",
    "risk": "orange",
    "notice": "blue",
}
SEVERITY_ICONS: Final[Mapping[str, str]] = {
    "breach": ":material/gavel:",
    "risk": ":material/warning:",
    "notice": ":material/info:",
}


class Rule(NamedTuple):
    """A rule's short name, what a finding of it means and may cost, and the next action."""

    name: str
    meaning: str
    remedy: str


_SELLER_PENALTY: Final = N_(
    "The seller can be exposed to regulatory penalties, up to a block of cash-in and cash-out."
)
_MARKETPLACE_PENALTY: Final = N_(
    "Data not collected from the seller for this review can expose the marketplace to penalties."
)

RULES: Final[Mapping[str, Rule]] = {
    "expired_unfinished": Rule(
        N_("Expired, unfinished"),
        _SELLER_PENALTY,
        N_("Collect from the seller and submit: the platform still accepts it."),
    ),
    "finished_late": Rule(
        N_("Finished late"),
        _SELLER_PENALTY,
        N_("Keep the evidence of why, and look for what delayed it."),
    ),
    "finished_elsewhere": Rule(
        N_("Finished without an accepted attempt of ours"),
        N_(
            "An answer was lost, somebody submitted outside of this log, or an event was forged."
            " Evidence of the collection may be missing."
        ),
        N_("Find out who submitted, and collect their evidence."),
    ),
    "field_without_evidence": Rule(
        N_("Field sent without evidence"),
        _MARKETPLACE_PENALTY,
        N_("Find where the value came from; ask the seller anew if it was not them."),
    ),
    "source_not_seller": Rule(
        N_("Not collected from the seller"),
        _MARKETPLACE_PENALTY,
        N_("Collect the field from the seller in an active journey."),
    ),
    "evidence_before_request": Rule(
        N_("Collected before the request"),
        _MARKETPLACE_PENALTY,
        N_("Collect the field again, for this request."),
    ),
    "evidence_recorded_late": Rule(
        N_("Evidence recorded late"),
        N_("An auditor can doubt evidence that was recorded after the submission it supports."),
        N_("Record collections as they happen."),
    ),
    "evidence_reused": Rule(
        N_("Evidence reused"),
        _MARKETPLACE_PENALTY,
        N_("Each process needs a journey of its own."),
    ),
    "values_reused": Rule(
        N_("Same values as an earlier submission"),
        N_("An auditor can suspect that an earlier submission was copied."),
        N_("Keep the journey's screens and logs as evidence of the seller's own answer."),
    ),
    "acp_incomplete": Rule(
        N_("ACP incomplete"),
        N_("The platform can reject it: an ACP needs every field of the seller's type."),
        N_("Collect the missing fields and submit the whole."),
    ),
    "aci_extra_field": Rule(
        N_("Field outside of the ACI"),
        N_("The platform can reject it: an ACI takes the requested fields alone."),
        N_("Send nothing but what was requested."),
    ),
    "payload_changed_on_retry": Rule(
        N_("Payload changed on a retry"),
        N_("The platform can process both payloads: a retry resends the same bytes."),
        N_("Find out which of them the platform took."),
    ),
    "retries_exhausted": Rule(
        N_("Retries given up"),
        N_("The deadline keeps running while the platform fails."),
        N_("Open a support ticket with the platform."),
    ),
    "open_after_finish": Rule(
        N_("Reported open after its finish"),
        N_("The platform may not have taken the submission."),
        N_("Ask the platform for the status of the process."),
    ),
    "status_disagrees": Rule(
        N_("Reported status disagrees with the clock"),
        N_("The deadline that we work with may not be the platform's."),
        N_("Compare the deadline with the platform."),
    ),
    "deadline_mismatch": Rule(
        N_("Deadline off the contract's days"),
        N_("The deadline may be wrong: an ACP has 60 days, an ACI 30."),
        N_("Compare the deadline with the platform."),
    ),
    "deadline_changed": Rule(
        N_("Deadline changed"),
        N_("The events of the process disagree; the latest one counts."),
        N_("Plan by the deadline of the latest event."),
    ),
    "identity_changed": Rule(
        N_("Type or seller changed"),
        N_("Data can be collected from the wrong seller, or too little of it."),
        N_("Ask the platform which event holds."),
    ),
    "event_altered": Rule(
        N_("Event delivered with other bytes"),
        N_("A delivery can have been forged or changed on its way."),
        N_("Compare both deliveries, and check how deliveries are authenticated."),
    ),
    "outcome_unknown": Rule(
        N_("Outcome unknown"),
        N_("The platform may or may not have taken the submission."),
        N_("Send the same payload again, or ask the platform for the status."),
    ),
    "unauthorized": Rule(
        N_("Credentials refused"),
        N_("No submission can succeed until this is mended, and deadlines keep running."),
        N_("Check credentials and mTLS set-up, then resume what is waiting."),
    ),
    "overdue_unstarted": Rule(
        N_("Overdue, no journey started"),
        N_("The seller has not been asked, and the deadline keeps running."),
        N_("Start a collection journey."),
    ),
    "quarantined": Rule(
        N_("Delivery in quarantine"),
        N_("A review may have been asked for, and nobody knows its deadline."),
        N_("Read the reason, mend it, and replay the delivery."),
    ),
    "slow_record": Rule(
        N_("Recorded slowly"),
        N_("The platform waits 30 seconds for the answer; what comes later can be lost."),
        N_("Check the load and the disk of the receiver."),
    ),
    "new_code": Rule(
        N_("Code that the contract does not list"),
        N_("The platform may have changed its contract."),
        N_("Read the entry, and ask the platform what the code means."),
    ),
    "override": Rule(
        N_("Rule overridden"),
        N_("Somebody sent it with a reason and a name; an auditor will ask for both."),
        N_("Make sure that the reason holds."),
    ),
}


def chip(severity: str) -> str:
    """How grave a finding is, as a chip in its colour: in a word, too, for who cannot tell it."""
    return formats.badge(
        _(SEVERITIES[severity]), SEVERITY_COLOURS[severity], SEVERITY_ICONS[severity]
    )


def name(rule: str) -> str:
    """A rule's short name; the code itself where it is not listed."""
    return _(RULES[rule].name) if rule in RULES else rule
