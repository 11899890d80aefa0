"""What became of a message to a seller (docs/rules.md#seller-notices)."""

from typing import TYPE_CHECKING, Final, Literal

from pipeline.language.catalogue import N_
from pipeline.log.kinds import Kind

SELLER_NOTICE_RESULT: Final = "seller_notice_result"

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
