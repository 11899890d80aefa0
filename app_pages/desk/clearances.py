"""Shows what waits for a second person, and takes that person's word."""

import json
from collections.abc import Sequence
from datetime import date, timedelta
from functools import partial

import streamlit as st

from app_pages.door import access
from app_pages.language import code_texts, formats
from app_pages.language.i18n import N_, _
from app_pages.parts import acting, links, lists, views
from pipeline.clearance import acts, clearances
from pipeline.clearance.clearances import Decision
from pipeline.continuity import service
from pipeline.language import codes
from pipeline.log.actions import WRITTEN, By
from pipeline.names import folded
from pipeline.serve.roles import PERMISSIONS_OF_ACTS

MOST_WAITING = 100
MOST = 20
"""Of what waits, and of everything else."""
STATES = {
    "requested": N_("waits"),
    "approved": N_("approved, not yet done"),
    "refused": N_("refused"),
    "used": N_("done"),
    "expired": N_("ended, not done"),
}
_DECISIONS: dict[Decision, tuple[str, str]] = {
    "approved": (N_("Approve"), ":material/check:"),
    "refused": (N_("Refuse"), ":material/block:"),
}
_LATER = [state for state in STATES if state != "requested"]


ASKED = {
    "process": N_("Process"),
    "seller": N_("Seller"),
    "from": N_("From"),
    "to": N_("To"),
    "sample": N_("Processes drawn"),
    "number": N_("Number"),
    "checkpoint": N_("Checkpoint"),
    "population": N_("Of so many"),
    "withhold": N_("Entries left out"),
    "against": N_("Earlier checkpoint"),
    "view": N_("View"),
    "as_of": N_("As of"),
    "where": N_("Filters"),
    "contains": N_("Search"),
    "between": N_("Ranges"),
    "order_by": N_("Sorted by"),
    "limit": N_("Rows at most"),
    "offset": N_("Rows left out first"),
    "payload_sha256": N_("SHA-256 of the payload"),
    "gates": N_("Gates"),
}
"""What a request can be for, part by part."""


def show() -> None:
    """The requests that wait, with the forms that decide about them, and the latest others; nothing
    where no act needs a second person and none ever did."""
    # However many were decided since: what waits stands first, so that somebody can decide.
    waiting = views.read("clearances", where={"state": "requested"}, limit=MOST_WAITING)
    rows = views.read("clearances", where={"state": _LATER}, limit=MOST)
    if not (waiting or rows or service.current().settings.acts_of_two):
        return
    st.header(_("Waits for a second person"), anchor=False)
    for row in rows:
        is_ours = _is_own(row, acting.reader_name())
        if row["state"] == "approved" and is_ours and views.as_of() is None:
            _say_that_it_may_begin(row)
    if not waiting:
        st.markdown(_("Nothing waits for a second person."))
    for row in waiting:
        _card(row)
    if rows:
        with st.expander(_("Decided, done or ended"), icon=":material/history:"):
            _table(rows)


def _say_that_it_may_begin(row: views.Row) -> None:
    """To whoever asked: somebody has approved it, and how it is done now."""
    with st.container(border=True):
        st.markdown(
            _(
                ":material/check: **{act}**: {name} has approved what you asked for."
                " Ask for exactly the same again by {end}.",
                act=_(codes.ACTS[row["act"]]),
                name=formats.plain(row["decided_by"]),
                end=formats.minute(row["until"]),
            )
        )
        st.markdown(asked(row))
        if row["act"] == acts.EXPORT:
            links.to_package(**_package(row))


def _package(row: views.Row) -> dict[str, str | Sequence[str]]:
    """Where a package is asked for once more, as the page Evidence has it in its address. Of a
    sample the page keeps the checkpoint, too: by a later one it would be another drawing."""
    found = json.loads(row["detail"] or "{}")
    if row["process_id"]:
        return {"scope": "process", "subject": row["process_id"]}
    if "from" not in found:
        return {"scope": "seller", "subject": row["seller_id"]} if row["seller_id"] else {}
    first, end = (date.fromisoformat(found[it].partition("T")[0]) for it in ("from", "to"))
    if row["seller_id"]:
        return {"scope": "seller", "subject": row["seller_id"], "quarter": f"{first:%Y-%m}"}
    days = [f"{first}", f"{end - timedelta(1)}"]
    if "sample" in found:
        return {"list": "sample", "days": days, "checkpoint": found["checkpoint"]}
    return {"scope": "period", "days": days}


def asked(row: views.Row) -> str:
    """What exactly a request is for, as Markdown."""
    found = json.loads(views.shown("detail", row["detail"] or "{}"))
    return "  \n".join(
        f"{code_texts.word(ASKED, name)}: {_said(value)}" for name, value in found.items()
    )


def _said(value: object) -> str:
    return formats.code(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _card(row: views.Row) -> None:
    """One request: what, who, why and until when; and what the reader can do about it."""
    with st.container(border=True):
        st.markdown(f":material/group: **{_(codes.ACTS[row['act']])}**")
        st.markdown(
            _(
                "{name} asked for it on {instant}; it ends on {end}.",
                name=formats.plain(row["requested_by"]),
                instant=formats.minute(row["requested_at"]),
                end=formats.minute(row["until"]),
            )
        )
        st.markdown(f"*{formats.plain(code_texts.word(WRITTEN, row['reason']))}*")
        st.markdown(asked(row))
        links.to_process(row["process_id"], is_named=True)
        links.to_seller(row["seller_id"], is_named=True)
        if views.as_of() is not None:
            return
        if not all(map(access.may, PERMISSIONS_OF_ACTS[row["act"]])):
            st.markdown(formats.muted(_("Your role does not allow this act, nor to decide on it.")))
        elif _is_own(row, acting.reader_name()):
            st.markdown(formats.muted(_("You asked for it: somebody else has to decide.")))
        else:
            _decide(row)


def _is_own(row: views.Row, name: str | None) -> bool:
    return name is not None and folded(name) == folded(row["requested_by"])


def _decide(row: views.Row) -> None:
    own = row["request_id"]
    with st.form(f"decide {own}", border=False):
        st.text_input(_("Why?"), key=f"decide_reason {own}")
        acting.say_at(f"decide_reason {own}")
        acting.name_of_reader(f"decide_actor {own}")
        may = next(iter(PERMISSIONS_OF_ACTS[row["act"]]))  # all of them were asked for above
        with st.container(horizontal=True, gap="small"):
            for decision, (label, icon) in _DECISIONS.items():
                press = partial(_decided, row, decision)
                acting.submit(f"{decision} {own}", _(label), press, icon=icon, may=may)


def _decided(row: views.Row, decision: Decision) -> acting.Feedback:
    own, held = row["request_id"], service.current()
    if (lacking := acting.missing(f"decide_reason {own}", f"decide_actor {own}")) is not None:
        return lacking
    why, actor = acting.typed(f"decide_reason {own}"), acting.actor_of(f"decide_actor {own}")
    if _is_own(row, actor):
        return acting.Feedback(_("You asked for it: somebody else has to decide."), kept=why)
    error = acting.tried(
        lambda: clearances.decide(
            held.inbox,
            acts.Terms.of(held.settings),
            own,
            decision,
            By(why, actor, acting.RECORDED_BY),
            is_proved=held.settings.login != "none",
        ),
        actor,
    )
    if error is not None:
        acting.catch_up()  # somebody else may have decided
        return acting.Feedback("", error=error, kept=why)
    act, state = _(codes.ACTS[row["act"]]), code_texts.word(STATES, decision)
    return acting.Feedback(f"{act}: {state}", is_done=True)


def _table(rows: Sequence[views.Row]) -> None:
    lists.grid(
        [
            row
            | {
                "act": _(codes.ACTS[row["act"]]),
                "state": code_texts.word(STATES, row["state"]),
                "reason": code_texts.word(WRITTEN, row["reason"]),
            }
            for row in rows
        ],
        {
            "requested_at": lists.instant(_("Asked")),
            "act": lists.text(_("Act"), 190),
            "state": lists.text(_("Standing"), 150),
            "requested_by": lists.text(_("By"), 110),
            "reason": lists.text(_("Why"), 200),
            "decided_by": lists.text(_("Decided by"), 110),
            "decided_because": lists.text(_("Because"), 200),
        },
        alt=_("Requests that are decided, done or ended"),
        key="clearances decided",
    )
