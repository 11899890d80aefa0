"""What became of a message to a seller (docs/rules.md#seller-notices)."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Literal

from pipeline.contract.body import JsonValue, canonical_json
from pipeline.language.catalogue import N_
from pipeline.log.entries import Draft
from pipeline.log.kinds import Kind
from pipeline.log.kinds.seller_notice import key_of
from pipeline.texts import hide_personal

SELLER_NOTICE_RESULT: Final = "seller_notice_result"
MAX_DETAIL_CHARACTERS: Final = 200

_LINK: Final = re.compile(r"(?<!\S)\S*?(?:://|/[A-Za-z0-9_-]{40})\S*")
"""A link, or the end of one of ours without its scheme. It begins where a word does: if it were
looked for from every character, a long word would take hours."""

RESULTS: Final = {
    "accepted": N_("Seller notice accepted by the service"),
    "delivered": N_("Seller notice delivered"),
    "opened": N_("Seller notice opened"),
    "bounced": N_("Seller notice bounced"),
    "failed": N_("Seller notice not sent"),
    "uncertain": N_("Seller notice: unknown whether it was sent"),
}

if TYPE_CHECKING:
    NoticeResult = str
else:
    NoticeResult = Literal[tuple(RESULTS)]

KIND: Final = Kind(
    SELLER_NOTICE_RESULT,
    N_("Result of a seller notice"),
    icon=":material/mark_email_read:",
    steps=RESULTS,
    is_about_seller=True,
    is_in_files=True,
    touches_process=True,
)


def came_of(
    message_id: str,
    result: str,
    detail: str | None,
    *,
    is_refused: bool = False,
    occurred_at: int | None = None,
    recorded_by: str,
    process_id: str,
    seller_id: str | None,
) -> Draft:
    """The draft that says what became of a message that we handed over, for one of its processes.
    `detail`: as `kept_of` keeps it. `is_refused`: the service will never take it.
    `occurred_at`: in microseconds; None for the time of recording."""
    content: dict[str, JsonValue] = {"message_id": message_id, "result": result, "detail": detail}
    if is_refused:
        content["is_refused"] = True
    return Draft(
        kind=SELLER_NOTICE_RESULT,
        occurred_at=occurred_at,
        recorded_by=recorded_by,
        body=canonical_json(content),
        process_id=process_id,
        seller_id=seller_id,
        ingest_key=key_of(SELLER_NOTICE_RESULT, message_id, process_id, result),
    )


def kept_of(said: str, addresses: Iterable[str] = ()) -> str:
    """What is kept of the words of a service about a message, in one line: without links, by which
    anybody could answer as the seller, and without whom it was for. `addresses`: where it went;
    servers also name what stands before the @ alone."""
    text = hide_personal(_LINK.sub("***", " ".join(said.split())), lambda _: "***")
    for address in addresses:
        name = (address.rpartition("@")[0] or address).strip("+ ")
        if name:
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "***", text, flags=re.IGNORECASE)
    return text[:MAX_DETAIL_CHARACTERS]
