"""Puts the log's codes into words: states, outcomes, next actions and what each may cost.

A code that is not listed is shown as it came: the platform may send what the contract does not
know, and hiding it would hide the news.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from app_pages import formats
from app_pages.i18n import N_, _
from pipeline.errors import (
    CallerError,
    InboxUnavailable,
    LedgerRefused,
    PrazoError,
    SettingsError,
)

Colour = Literal["red", "orange", "blue", "green", "violet", "gray"]

STATES: Final[Mapping[str, str]] = {
    "EXPIRED": N_("Expired"),
    "OVERDUE": N_("Overdue"),
    "PENDING": N_("Pending"),
    "FINISHED": N_("Finished"),
    "UNKNOWN": N_("Unknown"),
}
STATE_COLOURS: Final[Mapping[str, Colour]] = {
    "EXPIRED": "red",
    "OVERDUE": "orange",
    "PENDING": "blue",
    "FINISHED": "green",
    "UNKNOWN": "gray",
}
STATE_ICONS: Final[Mapping[str, str]] = {
    "EXPIRED": ":material/event_busy:",
    "OVERDUE": ":material/alarm:",
    "PENDING": ":material/hourglass_top:",
    "FINISHED": ":material/check_circle:",
    "UNKNOWN": ":material/help:",
}
# What a state may cost (contract, "States and transitions" and "Compliance rules").
COSTS: Final[Mapping[str, str]] = {
    "EXPIRED": N_(
        "The seller can be exposed to regulatory penalties, up to a block of cash-in and cash-out."
        " The platform still accepts the submission."
    ),
    "OVERDUE": N_(
        "A submission is still in time. Once the deadline has passed, the seller can be exposed to"
        " regulatory penalties, up to a block of cash-in and cash-out."
    ),
    "PENDING": N_(
        "In time. If the deadline passes without an accepted submission, the seller can be exposed"
        " to regulatory penalties."
    ),
    "FINISHED": N_("Nothing is left to do. The evidence of the collection has to be kept."),
    "UNKNOWN": N_(
        "No review event of this process is in the log, so its deadline is not known. It can pass"
        " unnoticed."
    ),
}

REVIEW_TYPES: Final[Mapping[str, str]] = {
    "ACP": N_("Periodic update (ACP)"),
    "ACI": N_("Inconsistency (ACI)"),
}

OUTCOMES: Final[Mapping[str, str]] = {
    "accepted": N_("Accepted"),
    "invalid_payload": N_("Payload refused"),
    "unauthorized": N_("Credentials refused"),
    "not_found": N_("Not found"),
    "conflict": N_("Conflict"),
    "rate_limited": N_("Too many requests"),
    "platform_error": N_("Platform error"),
    "unexpected_status": N_("Unexpected answer"),
    "timeout": N_("No answer in time"),
    "network_error": N_("Not reached"),
    "in_flight": N_("Under way"),
    "unknown": N_("Unknown"),
    "refused": N_("Refused by our rules"),
}
OUTCOME_COLOURS: Final[Mapping[str, Colour]] = {
    "accepted": "green",
    "in_flight": "blue",
    "refused": "gray",
}


class Action(NamedTuple):
    """What to do: a short name, and the sentence that says how."""

    name: str
    how: str
    icon: str


ACTIONS: Final[Mapping[str, Action]] = {
    "start_collection": Action(
        N_("Start a collection"),
        N_(
            "Ask the seller for the requested fields in an active journey. They must not be filled"
            " from a bureau, a database or an earlier submission."
        ),
        ":material/campaign:",
    ),
    "remind_seller": Action(
        N_("Remind the seller"),
        N_("The seller was asked, and has not answered yet. Remind them to finish the journey."),
        ":material/notifications_active:",
    ),
    "submit": Action(
        N_("Submit the answers"),
        N_("The seller has answered, and nothing was sent yet. Send the submission."),
        ":material/send:",
    ),
    "send_again": Action(
        N_("Send again"),
        N_(
            "The last attempt got no usable answer. Send the same payload again; if it persists,"
            " open a support ticket with the platform."
        ),
        ":material/sync:",
    ),
    "mend_payload": Action(
        N_("Mend the payload"),
        N_("The platform found the payload invalid (400). Correct it and send it anew."),
        ":material/build:",
    ),
    "mend_credentials": Action(
        N_("Check the credentials"),
        N_("The platform answered 401. Check credentials and mTLS set-up, then send again."),
        ":material/key:",
    ),
    "check_ids": Action(
        N_("Check the identifiers"),
        N_("The platform does not know process or seller (404). Compare them with the event."),
        ":material/fingerprint:",
    ),
    "check_status": Action(
        N_("Check the status"),
        N_("The platform answered 409: it may be concluded. Check it before sending again."),
        ":material/rule:",
    ),
    "read_answer": Action(
        N_("Read the answer"),
        N_("The platform answered with a status that the contract does not show. Read it first."),
        ":material/quick_reference:",
    ),
    "await_retry": Action(
        N_("Wait for the retry"),
        N_("The last attempt failed. Prazo sends the same payload again by itself."),
        ":material/autorenew:",
    ),
    "mend_refusal": Action(
        N_("Mend what our rules refuse"),
        N_(
            "Our rules refuse by now the payload that waits for a retry. Mend what they name and"
            " resume it, or send another in its place."
        ),
        ":material/front_hand:",
    ),
    "open_ticket": Action(
        N_("Open a support ticket"),
        N_(
            "The retries were given up after 24 hours or 30 attempts. Open a ticket with the"
            " platform; the deadline keeps running."
        ),
        ":material/support_agent:",
    ),
    "await_answer": Action(
        N_("Wait for the answer"),
        N_("An attempt is under way."),
        ":material/pending:",
    ),
    "find_event": Action(
        N_("Find the review event"),
        N_("Check that the receiver gets the platform's events, or ingest what was missed."),
        ":material/search:",
    ),
}


class Fault(NamedTuple):
    """What an error of a kind means to whoever looks at a page, and what to do."""

    name: str
    remedy: str


FAULTS: Final[Mapping[type[PrazoError], Fault]] = {
    InboxUnavailable: Fault(
        N_("The inbox cannot be used just now"),
        N_("What was acknowledged is safe. Look at its disk or its server, then try again."),
    ),
    LedgerRefused: Fault(
        N_("The ledger and its inbox tell different stories"),
        N_("Let whoever runs Prazo look at it; `prazo doctor` says what to do."),
    ),
    SettingsError: Fault(
        N_("A setting is not right"),
        N_("Let whoever runs Prazo look at it; `prazo doctor` says what to do."),
    ),
    CallerError: Fault(
        N_("This cannot be done as it was asked"),
        N_("Change what was asked, then try again."),
    ),
    PrazoError: Fault(
        N_("This cannot be done just now"),
        N_("Try again; if it stays like that, let whoever runs Prazo look at its log."),
    ),
}
"""The first kind that an error is of; those of one branch stand before the branch."""

FINISHERS: Final[Mapping[str, str]] = {
    "submission": N_("by our submission"),
    "platform": N_("reported by the platform"),
}
ENDS: Final[Mapping[str, str]] = {
    "finished_in_time": N_("Finished in time"),
    "finished_late": N_("Finished late"),
    "pending": N_("Pending"),
    "overdue": N_("Overdue"),
    "expired": N_("Expired"),
}

SELLER_STATES: Final[Mapping[str, str]] = {
    "enabled": N_("Enabled"),
    "denied": N_("Denied"),
    "disabled": N_("Blocked"),
    "deleted": N_("Deleted"),
    "pending_analysis": N_("In analysis"),
    "unknown": N_("Unknown"),
}


class Standing(NamedTuple):
    """What a seller's status means, and what to do about it (contract, "Event list")."""

    meaning: str
    remedy: str


STANDINGS: Final[Mapping[str, Standing]] = {
    "enabled": Standing(
        N_("The seller passed every step and is active. A review that expires can change that."),
        N_("Answer its open reviews in time."),
    ),
    "denied": Standing(
        N_("The platform rejected the seller."),
        N_("Read the reasons below. Where they can be corrected, a new attempt is a new seller."),
    ),
    "disabled": Standing(
        N_("The seller is blocked from new transactions."),
        N_("Look for an expired review below, and ask the platform what lifts the block."),
    ),
    "deleted": Standing(
        N_("The seller is removed and no longer accessible."),
        N_("Keep the evidence of its reviews: an auditor can still ask for it."),
    ),
    "pending_analysis": Standing(
        N_("The platform analyses the seller: up to 3 minutes for 99 % of them."),
        N_("Wait for the result; if it takes much longer, ask the platform."),
    ),
    "unknown": Standing(
        N_("No event says what the platform decided on this seller."),
        N_("Check that the receiver gets the platform's events, or ingest what was missed."),
    ),
}

SELLER_TYPES: Final[Mapping[str, str]] = {
    "individual": N_("individual"),
    "business": N_("business"),
}
SELLER_STATE_COLOURS: Final[Mapping[str, Colour]] = {
    "enabled": "green",
    "denied": "red",
    "disabled": "orange",
    "deleted": "gray",
    "pending_analysis": "blue",
    "unknown": "gray",
}

REASONS: Final[Mapping[str, str]] = {
    "DOCUMENT_VALIDATION": N_("Document"),
    "INTERNAL_KYC_POLICY": N_("Internal policy of the platform"),
    "FRAUD_PREVENTION": N_("Fraud prevention"),
    "REGISTRATION_INCONSISTENCY": N_("Registration data"),
}
DETAILS: Final[Mapping[str, str]] = {
    "DOCUMENT_NOT_MATCH": N_("unreadable, or not the person in the selfie"),
    "DOCUMENT_QUALITY": N_("photo quality too low"),
    "NAME_INVALID": N_("name differs from the tax authority's record"),
    "BIRTH_DATE_INVALID": N_("birth date differs from the official record"),
    "REGISTRATION_STATUS_INVALID": N_("taxpayer number is irregular"),
}

# What the platform says of a new onboarding (contract, "decision_reasons").
RETRIES: Final[Mapping[bool | None, str]] = {
    True: N_(
        "The reasons can be corrected: a new attempt is possible, as a new seller, with the whole"
        " process repeated."
    ),
    False: N_("The reasons point to no chance of approval in a new process."),
    None: N_("The platform does not say whether a new attempt is possible."),
}
SELLER_RECORD: Final[Mapping[str, str]] = {
    "first_name": N_("First name"),
    "last_name": N_("Last name"),
    "taxpayer_id": N_("Taxpayer id"),
    "document_number": N_("Document"),
    "email": N_("E-mail"),
    "phone_number": N_("Telephone"),
    "birthdate": N_("Birth date"),
    "address": N_("Address"),
    "type": N_("Type"),
    "mcc": N_("Merchant category"),
    "revenue": N_("Revenue"),
    "account_balance": N_("Account balance"),
    "current_balance": N_("Current balance"),
    "delinquent": N_("Delinquent"),
    "marketplace_id": N_("Marketplace"),
}
EVENTS: Final[Mapping[str, str]] = {
    "regulatory.registration.review.required": N_("Review event"),
    "seller.created": N_("Seller created"),
    "seller.enabled": N_("Seller enabled"),
    "seller.denied": N_("Seller denied"),
    "seller.disabled": N_("Seller blocked"),
    "seller.updated": N_("Seller updated"),
    "seller.deleted": N_("Seller deleted"),
    "bank_account.associated": N_("Bank account linked"),
    "bank_account.deleted": N_("Bank account removed"),
}
STEPS: Final[Mapping[str, str]] = {
    "invited": N_("Seller invited"),
    "opened": N_("Journey opened"),
    "answered": N_("Seller answered"),
    "confirmed": N_("Seller confirmed"),
}
CHANNELS: Final[Mapping[str, str]] = {
    "in_app": N_("in the app"),
    "web_form": N_("web form"),
    "email": N_("e-mail"),
    "push": N_("push message"),
    "sms": N_("text message"),
    "chat": N_("chat"),
    "phone": N_("telephone"),
}
VIAS: Final[Mapping[str, str]] = {
    "cli": N_("command line"),
    "api": N_("API"),
    "gateway": N_("gateway"),
    "ingested": N_("ingested"),
}
SOURCES: Final[Mapping[str, str]] = {"seller": N_("the seller")}
KINDS: Final[Mapping[str, str]] = {
    "webhook": N_("Delivery"),
    "submission_started": N_("Submission sent"),
    "submission_finished": N_("Submission answered"),
    "collection": N_("Collection"),
    "quarantine": N_("Delivery in quarantine"),
    "rejection": N_("Deliveries turned away"),
    "replacement": N_("Payload replaced"),
    "export": N_("Audit export"),
    "override": N_("Rule overridden"),
    "unmask": N_("Personal data shown"),
    "note": N_("Note"),
    "assignment": N_("Assignment"),
    "alert": N_("Alert"),
    "erasure": N_("Erasure"),
}
REVIEW_EVENT: Final = "regulatory.registration.review.required"
_KIND_ICONS: Final[Mapping[str, str]] = {
    "submission_started": ":material/send:",
    "quarantine": ":material/block:",
    "export": ":material/inventory_2:",
    "override": ":material/gavel:",
    "unmask": ":material/visibility:",
    "note": ":material/sticky_note_2:",
    "assignment": ":material/person_add:",
    "alert": ":material/notifications:",
    "erasure": ":material/ink_eraser:",
}
ERRORS: Final[Mapping[str, str]] = {
    "timeout": N_("no answer in time"),
    "network_error": N_("platform not reached"),
    "refused": N_("refused by our rules, nothing sent"),
}


# Why a delivery could not be read, as the receiver writes it down (pipeline/contract.py).
UNREADABLE: Final = (
    N_("not UTF-8: {why} at byte {n}"),
    N_("not JSON: it starts with a byte order mark"),
    N_("not JSON: {why} (line {line}, column {column})"),
    N_("nested deeper than {n} levels"),
    N_("the key {name} stands twice in one object"),
    N_("a key stands twice in one object"),
    N_("a whole number beyond 64 bits"),
    N_("a number beyond the range of a double"),
    N_("{name} is not a JSON number"),
    N_("a lone surrogate (half a character) in a string"),
    N_("not a JSON object"),
    N_("no event type: `type` must be a non-empty string"),
    N_("a review event without an object at payload.object"),
    N_("a review event without a readable {names}"),
)
_UNREADABLE: Final = [
    (text, re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(text)), re.DOTALL))
    for text in UNREADABLE
]


def unreadable(reason: str) -> str:
    """Why a delivery is in quarantine, in the reader's language; one not listed as it is."""
    for text, pattern in _UNREADABLE:
        if found := pattern.fullmatch(reason):
            return _(text, **found.groupdict())
    return reason


class Told(NamedTuple):
    """An entry of the log in words."""

    icon: str
    title: str
    detail: str


def told(entry: Mapping[str, Any]) -> Told:
    """A row of the timeline, in words; what came from outside is shown as plain text."""
    kind, status, error = entry["kind"], entry["status"], entry["error"]
    if kind == "webhook" and entry["event_type"] == REVIEW_EVENT:
        reported = word(STATES, entry["reported_status"])
        detail = _(
            "The platform reports {status}, deadline {deadline}",
            status=formats.plain(reported),
            deadline=formats.minute(entry["deadline_at"]),
        )
        return Told(":material/campaign:", _(EVENTS[REVIEW_EVENT]), detail)
    if kind == "webhook":
        return Told(":material/webhook:", formats.plain(word(EVENTS, entry["event_type"])), "")
    if kind == "collection":
        channel = formats.plain(word(CHANNELS, entry["channel"]))
        title = formats.plain(word(STEPS, entry["step"]))
        source = entry["source"]
        if source != "seller":
            return Told(
                ":material/warning:",
                title,
                _("{channel} · source: {source}", channel=channel, source=formats.plain(source)),
            )
        return Told(":material/forum:", title, channel)
    if kind == "submission_finished":
        if error is not None:
            return Told(
                ":material/cloud_off:", word(KINDS, kind), formats.plain(word(ERRORS, error))
            )
        icon = ":material/task_alt:" if status == 200 else ":material/report:"
        return Told(icon, word(KINDS, kind), f"HTTP {status}")
    title = formats.plain(word(KINDS, kind))
    if kind == "quarantine" and entry["reason"] is not None:
        return Told(_KIND_ICONS[kind], title, formats.plain(unreadable(entry["reason"])))
    detail = " · ".join(formats.plain(it) for it in (entry["actor"], entry["reason"]) if it)
    return Told(_KIND_ICONS.get(kind, ":material/circle:"), title, detail)


def word(words: Mapping[str, str], code: str | None) -> str:
    """The code in words; itself where it is not listed; a dash for none."""
    if code is None:
        return "–"
    return _(words[code]) if code in words else code


def action(code: str) -> str:
    """The short name of a next action."""
    return _(ACTIONS[code].name)


def reason(pair: Mapping[str, str | None]) -> str:
    """A denial's reason, and its detail where it has one."""
    if pair["detail"] is None:
        return word(REASONS, pair["reason"])
    return f"{word(REASONS, pair['reason'])}: {word(DETAILS, pair['detail'])}"
