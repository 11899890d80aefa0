"""What each finding means, what it may cost, and what to do about it (docs/rules.md#findings)."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from app_pages.language import formats
from app_pages.language.code_texts import Colour
from app_pages.language.i18n import N_, _
from pipeline.language import codes

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
        N_("Finished without an accepted submission from us"),
        N_(
            "Somebody submitted outside this log, or an event was forged. Evidence of the"
            " collection may be missing."
        ),
        N_("Find out who submitted, and collect their evidence."),
    ),
    "answer_lost": Rule(
        N_("Finished, but the answer was lost"),
        N_(
            "An attempt of ours got no clear answer before the platform reported the process as"
            " finished: it probably did it, and the log lacks the 200 that proves it."
        ),
        N_("Send the same payload again: the platform's 200 completes the log."),
    ),
    "attempt_without_start": Rule(
        N_("Attempt answered, but its start is missing"),
        N_("Nothing in the log says what was sent, so nothing can be held against evidence."),
        N_("Ingest the start of the attempt from the system that sent it."),
    ),
    "field_without_evidence": Rule(
        N_("Field sent without evidence"),
        _MARKETPLACE_PENALTY,
        N_("Find out where the value came from; if not from the seller, ask the seller again."),
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
        N_(
            "An auditor can suspect that an earlier submission was copied. It is only a notice"
            " where the seller gave every value again for this review."
        ),
        N_("Keep the journey's screens and logs as evidence of the seller's own answer."),
    ),
    "acp_incomplete": Rule(
        N_("ACP incomplete"),
        N_("The platform can reject it: an ACP needs every field of the seller's type."),
        N_("Collect the missing fields, then submit them all."),
    ),
    "aci_extra_field": Rule(
        N_("Field that the ACI did not request"),
        N_("The platform can reject it: an ACI takes only the requested fields."),
        N_("Send only what was requested."),
    ),
    "payload_changed_on_retry": Rule(
        N_("Payload changed on retry"),
        N_("The platform can process both payloads: a retry resends the same bytes."),
        N_("Find out which of them the platform took."),
    ),
    "retries_exhausted": Rule(
        N_("Retries given up"),
        N_("The deadline keeps running while the platform fails."),
        N_("Open a support ticket with the platform."),
    ),
    "open_after_finish": Rule(
        N_("Reported open after it finished"),
        N_("The platform may not have taken the submission."),
        N_("Ask the platform for the status of the process."),
    ),
    "status_disagrees": Rule(
        N_("Reported status disagrees with the deadline"),
        N_("The deadline that we work with may not be the platform's."),
        N_("Compare the deadline with the platform."),
    ),
    "deadline_mismatch": Rule(
        N_("Deadline differs from the contract"),
        N_("The deadline may be wrong: an ACP has 60 days, an ACI 30."),
        N_("Compare the deadline with the platform."),
    ),
    "deadline_changed": Rule(
        N_("Deadline changed"),
        N_("The events of the process disagree; the latest one counts."),
        N_("Plan by the deadline of the latest event."),
    ),
    "identity_changed": Rule(
        N_("Review type or seller changed"),
        N_("Data can be collected from the wrong seller, or too little of it."),
        N_("Ask the platform which event holds."),
    ),
    "event_altered": Rule(
        N_("Event redelivered with different content"),
        N_("The later delivery may carry news, or may have been forged or changed on its way."),
        N_("Compare both deliveries, and check how deliveries are authenticated."),
    ),
    "outcome_unknown": Rule(
        N_("Outcome unknown"),
        N_("The platform may or may not have taken the submission."),
        N_("Send the same payload again, or ask the platform for the status."),
    ),
    "unauthorized": Rule(
        N_("Credentials refused"),
        N_("No submission can succeed until this is fixed, and deadlines keep running."),
        N_("Check credentials and mTLS set-up, then resume what is waiting."),
    ),
    "tls_refused": Rule(
        N_("Certificate refused"),
        N_(
            "No secure connection to the platform comes about, so no submission can succeed, and"
            " deadlines keep running."
        ),
        N_(
            "Ask whoever runs Prazo to check the client certificate and the platform's: see *Before"
            " real use* in the guide *Operations*. What is waiting is then sent by itself."
        ),
    ),
    "unreadable_part": Rule(
        N_("Part of an event could not be read"),
        N_("A deadline, a requested field or a denial's reason may be missing from what we know."),
        N_("Compare the entry with the contract, and ask the platform what it meant."),
    ),
    "status_after_deletion": Rule(
        N_("Status reported after the deletion"),
        N_("For us the seller stays deleted, but the platform may see it otherwise."),
        N_("Ask the platform whether the seller exists."),
    ),
    "deleted_with_open": Rule(
        N_("Deleted seller with an open review"),
        N_("The deadline keeps running, and nobody may be there to answer."),
        N_("Ask the platform whether the review still stands."),
    ),
    "overdue_unstarted": Rule(
        N_("In tolerance, journey not started"),
        N_("The seller has not been asked, and the deadline keeps running."),
        N_("Start a collection journey."),
    ),
    "quarantined": Rule(
        N_("Delivery quarantined"),
        N_("A review may have been asked for, and nobody knows its deadline."),
        N_(
            "Read the reason; fix its cause and replay the delivery, or supply what it lacks or its"
            " encoding."
        ),
    ),
    "slow_record": Rule(
        N_("Slow to be recorded"),
        N_("The platform waits 30 seconds for the answer; what comes later can be lost."),
        N_("Check the load and the disk of the receiver."),
    ),
    "new_code": Rule(
        N_("Code not listed in the contract"),
        N_("The platform may have changed its contract."),
        N_("Read the entry, and ask the platform what the code means."),
    ),
    "alert_undelivered": Rule(
        N_("Alert not delivered"),
        N_("Somebody should have been told of it and was not: a deadline may pass unseen."),
        N_("Correct the recipient's channel, test it, and see to what the alert is about."),
    ),
    "override": Rule(
        N_("Rule overridden"),
        N_(
            "Somebody sent it all the same and gave a reason and a name; an auditor will ask"
            " for both."
        ),
        N_("Make sure that the reason holds."),
    ),
}


def chip(severity: str) -> str:
    """How grave a finding is, as a chip: a colour, and a word for readers who cannot see it."""
    return formats.badge(
        _(codes.SEVERITIES[severity]), SEVERITY_COLOURS[severity], SEVERITY_ICONS[severity]
    )


def name(rule: str) -> str:
    """A rule's short name; the code itself where it is not listed."""
    return _(RULES[rule].name) if rule in RULES else rule
