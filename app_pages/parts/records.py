"""Shows one seller's record and name: masked, or in clear behind a reason that is in the log."""

from datetime import datetime
from typing import Final

import streamlit as st

from app_pages.language import formats, sellers
from app_pages.language.i18n import _
from app_pages.parts import acting, elements, seller_names, views
from pipeline.continuity import service
from pipeline.language import codes
from pipeline.log.kinds.erasure import ERASURE

VIEW: Final = "seller_state"


def is_shown(seller_id: str) -> bool:
    """Whether this session has said why it needs the record."""
    return acting.may_see_personal_data(VIEW, seller_id)


def title(seller_id: str) -> str:
    """The seller's id, and their name where it is shown: with all personal data, or as on lists."""
    in_clear = is_shown(seller_id)
    if in_clear:
        name = _unmasked("seller_names", seller_id).get("seller_name")
    else:
        name = seller_names.in_clear(seller_id)
    shown = seller_id if in_clear else views.shown("seller_id", seller_id)
    return f"{name} · {shown}" if name else shown


def show(seller: views.Row) -> None:
    """A row of `seller_state` as the platform last sent it, and the form that unmasks it."""
    seller_id = seller["seller_id"]
    in_clear = is_shown(seller_id)
    known = _unmasked(VIEW, seller_id) if in_clear else seller

    def as_shown(column: str) -> object:
        value = known[column]
        is_kept = in_clear or not isinstance(value, str)
        return value if is_kept else views.shown(column, value)

    record = {
        _(label): sellers.in_record(column, as_shown(column))
        for column, label in codes.SELLER_RECORD.items()
        if known[column] is not None
        and known[column] != known.get(sellers.OF_BUSINESS.get(column, ""))
    }
    if was_erased(seller_id, seller["last_event_at"]):
        st.markdown(formats.muted(_("Personal data was erased, as the audit trail says.")))
    elif record:
        st.markdown(
            formats.muted(
                _("As the platform last sent it.")
                if in_clear
                else _(
                    "As the platform last sent it. What names the person, or tells how to reach"
                    " them, is masked; amounts are not."
                )
            )
        )
    else:
        st.markdown(_("The platform has sent no record of this seller yet."))
    if record:
        elements.details(record, alt=_("The seller's record"))
        acting.ask_for_personal_data(VIEW, seller_id, seller_id=seller_id)


def was_erased(seller_id: str, last_event_at: datetime | None) -> bool:
    """Whether what the platform sent was erased since it last sent anything. As of an earlier
    instant, too: it is gone from every page."""
    rows = service.current().reader.records(
        "timeline",
        as_of=max(views.as_of() or 0, service.current().now()),
        where={"seller_id": seller_id, "kind": ERASURE},
        order_by="occurred_at desc",
        limit=1,
    )
    erased = [it["occurred_at"] for it in rows.by_name()]
    return any(last_event_at is None or it > last_event_at for it in erased)


def _unmasked(view: str, seller_id: str) -> views.Row:
    """The seller's row of a view with its personal columns: never kept for another reader."""
    service.current().require_unerased()
    rows = service.current().reader.read(
        view, as_of=views.as_of(), where={"seller_id": seller_id}, unmask=True
    )
    return next(iter(rows.to_pylist()), {})
