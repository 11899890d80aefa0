"""A message to a seller about a review, or a call or letter (docs/rules.md#seller-notices)."""

import hashlib
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal

from pipeline.contract.body import JsonValue, canonical_json
from pipeline.errors import WrongUsage
from pipeline.language.catalogue import N_
from pipeline.language.codes import CALL_OUTCOMES, SELLER_CHANNELS
from pipeline.log.actions import signed
from pipeline.log.entries import Draft
from pipeline.log.kinds import Kind

SELLER_NOTICE: Final = "seller_notice"

PHONE: Final = "phone"
LETTER: Final = "letter"
BY_HAND: Final = (PHONE, LETTER)
"""Channels by which a person reaches the seller, beside Prazo."""

REACHED: Final = "reached"
"""What came of a call: somebody spoke to the seller."""

ADDRESS: Final = "address"
"""Key of a message that Prazo sent: the keyed digest of the address."""
ARTIFACTS: Final = "artifacts"
"""Its words, as they are kept."""
COMMITMENT: Final = "commitment"
"""The salted digest of its true bytes: only what Prazo sent has one."""
JOURNEY: Final = "journey_id"
"""Of the link that it brought."""
DEADLINE: Final = "deadline_at"
"""Of the review, as it said it."""
ONCE: Final = "once"
"""The id of the list of sellers who were written to by one press."""
OF_OURS: Final = frozenset({ADDRESS, ARTIFACTS, COMMITMENT, DEADLINE, JOURNEY, ONCE})

if TYPE_CHECKING:
    SellerChannel = str
    CallOutcome = str
else:
    SellerChannel = Literal[tuple(SELLER_CHANNELS)]
    """By which a seller is notified."""
    CallOutcome = Literal[tuple(CALL_OUTCOMES)]
    """What came of a call."""

KIND: Final = Kind(
    SELLER_NOTICE,
    N_("Seller notice"),
    icon=":material/outgoing_mail:",
    shows=("channel", "about", "promised_for"),
    is_about_seller=True,
    names_artifacts=True,
    is_in_files=True,
    touches_process=True,
)


def new_message_id() -> str:
    """An id that no other message has."""
    return f"msg_{secrets.token_hex(12)}"


def by_hand(
    message_id: str,
    channel: str,
    *,
    outcome: str | None = None,
    promised_for: str | None = None,
    note: str | None = None,
    occurred_at: int | None = None,
    actor: str | None,
    recorded_by: str,
    process_id: str,
    seller_id: str | None,
) -> Draft:
    """The draft that says: a person called the seller of a process, or wrote them a letter.
    `outcome` of a call; `occurred_at` in microseconds, now without one. Raises `WrongUsage` without
    a name, or for a promise of somebody who was not reached."""
    if promised_for is not None and outcome != REACHED:
        raise WrongUsage(
            "The seller notice was not recorded",
            "only who was reached can have promised a day",
            "leave the promised day out",
        )
    content: dict[str, JsonValue] = {
        "message_id": message_id,
        "channel": channel,
        "outcome": outcome,
        "promised_for": promised_for,
        "note": note,
    }
    drafted = signed(
        SELLER_NOTICE,
        {name: it for name, it in content.items() if it is not None},
        actor=actor,
        recorded_by=recorded_by,
        process_id=process_id,
        seller_id=seller_id,
        what="seller notice",
    )
    return drafted._replace(occurred_at=occurred_at)


def handed_over(
    message_id: str,
    channel: str,
    content: Mapping[str, JsonValue],
    *,
    actor: str | None,
    recorded_by: str,
    process_id: str,
    seller_id: str,
) -> Draft:
    """The draft that says: a message is about to be handed to a service. It counts once for each
    message and process. `content`: what else is known of it. `actor`: who sends it; None for the
    schedule. Raises `WrongUsage` for a name that nobody can have."""
    said = {"message_id": message_id, "channel": channel, **content}
    drafted = (
        Draft(
            kind=SELLER_NOTICE,
            occurred_at=None,
            recorded_by=recorded_by,
            body=canonical_json(said),
            process_id=process_id,
            seller_id=seller_id,
        )
        if actor is None
        else signed(
            SELLER_NOTICE,
            said,
            actor=actor,
            recorded_by=recorded_by,
            process_id=process_id,
            seller_id=seller_id,
            what="seller notice",
        )
    )
    return drafted._replace(ingest_key=key_of(SELLER_NOTICE, message_id, process_id))


def key_of(*parts: str) -> bytes:
    """By which an entry about a message counts once."""
    return hashlib.sha256("\n".join(parts).encode()).digest()
