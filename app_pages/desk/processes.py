"""Lists every review process, finished ones too, by how it stands and when it was opened."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import streamlit as st

from app_pages.desk import saved
from app_pages.language import code_texts, formats
from app_pages.language.i18n import _
from app_pages.parts import address, elements, links, lists, views
from pipeline.language import codes

OPENED_DAYS: Final = "90"
"""As the Overview counts: of a process that was opened just so long ago it says nothing more."""
ANY: Final = "any"
FOLDED: Final = ("type", "opened", "seller")
_FINISHED: Final[Mapping[str, Sequence[object]]] = {
    "finished_in_time": [False, None],  # None where no deadline is known, as the Overview has it
    "finished_late": [True],
}


def listed() -> lists.Listed:
    """What the list shows of each row."""
    states = code_texts.by_code(codes.STATES)

    def cells(row: views.Row) -> dict[str, object]:
        return {
            "state": [states[row["state"]]],
            "review_type": row["review_type"] or "",
            "time_left": ""
            if row["seconds_to_deadline"] is None
            else formats.time_left(row["seconds_to_deadline"]),
        }

    return lists.Listed(
        cells,
        {
            "process_id": lists.subject_id(_("Process")),
            lists.SELLER: lists.text(_("Seller"), 100),
            "review_type": lists.text(_("Type"), 48),
            "state": lists.coded(_("State"), codes.STATES, code_texts.STATE_COLOURS),
            "opened_at": lists.instant(_("Opened at"), 126),
            "deadline_at": lists.instant(_("Deadline"), 126),
            "finished_at": lists.instant(_("Finished at"), 126),
            "time_left": lists.text(_("Time left"), 104),
        },
        alt=_("Review processes, the newest first"),
        sorts={"time_left": "deadline_at"},
    )


def card(row: views.Row) -> None:
    """How a process stands, and the way to its story."""
    st.markdown(f"{elements.cell(row, 'process_id')} {elements.cell(row, 'seller_id')}")
    chip = code_texts.state_chip(row["state"], row["seconds_to_deadline"])
    badges = [chip, code_texts.type_chip(row["review_type"])]
    if row["finished_late"]:
        badges.append(formats.badge(_("Finished late"), "violet", ":material/schedule:"))
    st.markdown(" ".join(badges))
    elements.details(
        {
            _("Opened at"): formats.minute(row["opened_at"]),
            _("Deadline"): formats.minute(row["deadline_at"]),
            _("Finished at"): formats.minute(row["finished_at"]),
            _("Attempts"): formats.number(row["attempts"]),
        },
        alt=_("The chosen process"),
    )
    # A link to the page that is shown would leave its query out.
    st.button(
        _("Open the process"),
        icon=":material/timeline:",
        type="tertiary",
        on_click=address.take,
        args=([("process", row["process_id"])],),
        key="open_listed",
    )
    links.to_seller(row["seller_id"])


def show(line: Any) -> None:
    """The list under its filters, all of which stand in the address, and in `line` of the page."""
    with line:
        with st.container(width="content"):
            saved.show("process")
        by_end = st.container(width="content")
        with st.container(width="content"), lists.more_filters(FOLDED):
            by_type = st.container()
            opened = address.choices(_("Opened"), {OPENED_DAYS: _("In the last 90 days")}, "opened")
            seller = address.text(
                _("Seller"), "seller", placeholder=_("Part of the id"), width="stretch"
            )
    types = address.asked_for("type", codes.REVIEW_TYPES)
    facets = views.Facets(
        "process_state",
        {"state": [], "finished_late": [], "review_type": types},
        views.filtered(
            contains={"seller_id": seller},
            between={"opened_at": (_opened_since() if opened else None, None)},
        ),
    )
    # Only now is it known among which processes each of these counts.
    ends = {ANY: _("Any"), **{code: _(name) for code, name in code_texts.ENDS.items()}}
    with by_end:
        end = address.choice(
            _("Stands"),
            {
                code: f"{name} ({formats.number(facets.rows(**_ended(code)))})"
                for code, name in ends.items()
            },
            "ends",
        )
    with by_type:
        names = {code: code for code in codes.REVIEW_TYPES}
        address.choices(_("Type"), facets.numbered("review_type", names, **_ended(end)), "type")
    lists.with_card(
        facets.choosing(**_ended(end)),
        listed(),
        card,
        counted=formats.processes,
        order_by="opened_at desc",
        nothing_matches=_("No process matches these filters"),
        when_empty=lambda: elements.empty(
            _("No review has come yet"), _("The Overview says what is left to do before one can.")
        ),
    )


def _ended(end: str) -> dict[str, Sequence[object]]:
    """What the columns have of processes that stand so; nothing for any."""
    if end == ANY:
        return {}
    if end in _FINISHED:
        return {"state": ["FINISHED"], "finished_late": _FINISHED[end]}
    return {"state": [end.upper()]}


def _opened_since() -> datetime:
    """The first instant that is less than so many days ago, as `review_flow` counts them."""
    return views.moment_to_ask() - timedelta(days=int(OPENED_DAYS)) + timedelta(microseconds=1)


FLOW_TYPES: Final = tuple(codes.REVIEW_TYPES)
"""The Overview's flow begins with the type, and so has no process of an unknown one."""


def to_rows_of_flow(end: str) -> None:
    """From an end of the Overview's flow to exactly the processes that it counts."""
    label = _(code_texts.ENDS[end])
    links.to_named("process", label, ends=end, opened=OPENED_DAYS, type=FLOW_TYPES)
