"""Names what to do next about a process, and says how."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from pipeline.language.catalogue import N_


class NextAction(NamedTuple):
    """What to do: a short name, and the sentence that says how."""

    name: str
    how: str
    icon: str


ACTIONS: Final[Mapping[str, NextAction]] = {
    "start_collection": NextAction(
        N_("Start a collection"),
        N_(
            "Ask the seller for the requested fields in an active journey. They must not be filled"
            " from a bureau, a database or an earlier submission."
        ),
        ":material/campaign:",
    ),
    "remind_seller": NextAction(
        N_("Ask again"),
        N_(
            "The seller was asked, and has not answered everything yet. Ask them again, and record"
            " what came of it."
        ),
        ":material/notifications_active:",
    ),
    "await_seller": NextAction(
        N_("Wait for the seller"),
        N_(
            "The seller was contacted not long ago. Give them time to answer, and where the"
            " deadline is near, make sure that it reached them; this action comes back by itself."
        ),
        ":material/hourglass_bottom:",
    ),
    "submit": NextAction(
        N_("Submit the answers"),
        N_(
            "The seller has answered every required field, and what they answered last has not been"
            " sent. Send the submission."
        ),
        ":material/send:",
    ),
    "send_again": NextAction(
        N_("Send again"),
        N_(
            "The last attempt got no usable answer. Send the same payload again; if it persists,"
            " open a support ticket with the platform."
        ),
        ":material/sync:",
    ),
    "correct_payload": NextAction(
        N_("Correct what was refused"),
        N_(
            "The platform refused what was sent (400). Where a value is wrong, ask the seller for"
            " it again; any other mistake is ours to correct. Then send it again."
        ),
        ":material/build:",
    ),
    "correct_credentials": NextAction(
        N_("Check the credentials"),
        N_("The platform answered 401. Check credentials and mTLS set-up, then send again."),
        ":material/key:",
    ),
    "correct_certificate": NextAction(
        N_("Check the certificates"),
        N_(
            "No secure connection came about: the platform refused our client certificate, or its"
            " own is not trusted. Nothing was sent. Ask whoever runs Prazo: see *Before real use*"
            " in the guide *Operations*."
        ),
        ":material/verified_user:",
    ),
    "check_ids": NextAction(
        N_("Check the identifiers"),
        N_(
            "The platform does not know the process or the seller (404). Compare them with the"
            " event."
        ),
        ":material/fingerprint:",
    ),
    "check_status": NextAction(
        N_("Check the status"),
        N_(
            "The platform answered 409: the process may be finished already. Check before"
            " sending again."
        ),
        ":material/rule:",
    ),
    "read_answer": NextAction(
        N_("Read the answer"),
        N_(
            "The platform answered with a status that the contract does not list. Read the"
            " answer first."
        ),
        ":material/quick_reference:",
    ),
    "await_retry": NextAction(
        N_("Wait for the retry"),
        N_("The last attempt failed. Prazo sends the same payload again by itself."),
        ":material/autorenew:",
    ),
    "correct_refusal": NextAction(
        N_("Fix what our rules refuse"),
        N_(
            "Our rules now refuse the payload that is waiting for a retry. Fix what they name"
            " and resume it, or send another in its place."
        ),
        ":material/front_hand:",
    ),
    "open_ticket": NextAction(
        N_("Open a support ticket"),
        N_(
            "The platform keeps failing, or the retries were given up. Open a ticket with the"
            " platform and record its number; the deadline keeps running."
        ),
        ":material/support_agent:",
    ),
    "await_platform": NextAction(
        N_("Wait for the platform"),
        N_("A support ticket is open. Record it as closed once the platform has settled it."),
        ":material/hourglass_empty:",
    ),
    "ask_platform": NextAction(
        N_("Ask the platform"),
        N_(
            "The platform deleted the seller, or named no field that it wants. Ask what still"
            " stands before anything is collected or sent."
        ),
        ":material/contact_support:",
    ),
    "await_answer": NextAction(
        N_("Wait for the answer"),
        N_("An attempt is under way."),
        ":material/pending:",
    ),
    "find_event": NextAction(
        N_("Find the review event"),
        N_("Check that the receiver gets the platform's events, or ingest what was missed."),
        ":material/search:",
    ),
}

INSTEAD: Final[Mapping[str, NextAction]] = {
    "await_seller": NextAction(
        N_("Call the seller"),
        N_(
            "The seller was contacted not long ago, and little time is left: make sure that it"
            " reached them, and record what came of the call."
        ),
        ":material/call:",
    ),
    "await_platform": NextAction(
        N_("Call the platform"),
        N_(
            "A support ticket is open, and little time is left: ask the platform how it stands."
            " Record it as closed once the platform has settled it."
        ),
        ":material/support_agent:",
    ),
    "await_retry": NextAction(
        N_("Watch the retry"),
        N_(
            "The last attempt failed, and little time is left. Prazo sends the same payload again"
            " by itself: if that fails, too, ask the platform."
        ),
        ":material/autorenew:",
    ),
}
"""What to do instead of waiting where the deadline is too close to wait (docs/rules.md#queues)."""


def of(code: str, queue: str | None) -> NextAction:
    """What to do: the next action, or what stands in for a wait in the queue `act_now`."""
    return INSTEAD[code] if queue == "act_now" and code in INSTEAD else ACTIONS[code]


def names(code: str) -> list[str]:
    """What a next action may be called, where its queue is not known: each name in English."""
    return [it[code].name for it in (ACTIONS, INSTEAD) if code in it]
