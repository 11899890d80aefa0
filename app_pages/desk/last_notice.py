"""Shows what became of the latest notice to a seller: whether it was taken, came, was opened,
answered and confirmed, and whether the review is finished, each with its instant, or that nobody
knows."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

import streamlit as st

from app_pages.desk import calls
from app_pages.language import code_texts, formats, occurrences
from app_pages.language.i18n import N_, _, ngettext
from app_pages.parts import elements, folds, views
from pipeline.continuity import service
from pipeline.inbox.artifacts import artifact_store
from pipeline.language import codes
from pipeline.log.entries import content_of
from pipeline.log.kinds.seller_notice import ARTIFACTS, BY_HAND, SELLER_NOTICE

EARLIER: Final = 5


def show(about: Mapping[str, str]) -> None:
    """The latest notice as it fares, its words, and a line for each of those before it; nothing
    where there is none. `about`: the process, or the seller, by the column of its id."""
    messages: dict[str, list[views.Row]] = {}
    for row in calls.notices(about):
        messages.setdefault(row["message_id"], []).append(row)
    if not messages:
        return
    latest, *earlier = messages.values()
    st.header(_("Latest notice"), anchor=False)
    _fares(about, latest[0]["message_id"])
    own = " ".join(views.shown(column, it) for column, it in about.items())
    _words(latest[0], f"words {own}")
    if not earlier:
        return
    label = ngettext(
        "{n} earlier notice", "{n} earlier notices", len(earlier), n=formats.number(len(earlier))
    )
    place = folds.expander(label, key=f"earlier {own}")
    if place is None:
        return
    with place:
        for rows in earlier[:EARLIER]:
            st.markdown(" · ".join(_in_a_line(rows)))
        if len(earlier) > EARLIER:
            st.markdown(formats.muted(_("The audit trail of the seller has all.")))


@st.fragment(run_every=views.TICK_SECONDS)
@elements.failures_said()
def _fares(about: Mapping[str, str], message_id: str) -> None:
    """As it happens. It has as many lines whatever happens, so that nothing moves below it."""
    rows = views.read("seller_notices", where={**about, "message_id": message_id})
    since = min(row["sent_at"] for row in rows)
    reviews = {"process_id": [row["process_id"] for row in rows]}
    steps = views.read(
        "collections",
        where={**reviews, "source": "seller"},
        between={"occurred_at": (since, None)},
    )
    ends = [
        {**process, "step": "finished", "occurred_at": process["finished_at"]}
        for process in views.read("process_state", where=reviews)
        if process["finished_at"] is not None
    ]
    elements.details(_life(rows, [*steps, *ends]), alt=_("Latest notice"))


def _words(row: views.Row, key: str) -> None:
    """What was written, as it is kept: without its links and the address. Nothing of what another
    system sent, or a person said."""
    held = service.current()
    entries = held.inbox.find(process_id=row["process_id"], kind=SELLER_NOTICE)
    kept = next((content_of(it).get(ARTIFACTS) for it in entries if it.seq == row["seq"]), None)
    if not isinstance(kept, list):
        return
    place = folds.expander(_("Text of the message"), key=key)
    if place is None:
        return
    with place:
        store = artifact_store(held.settings, held.inbox)
        for artifact in kept:
            text = store.read(str(artifact["sha256"])) if isinstance(artifact, dict) else None
            if text is None:
                st.markdown(formats.muted(_("Erased, as the audit trail says.")))
            else:
                st.code(text.decode("utf-8", "replace"), language=None, wrap_lines=True)


def _life(rows: Sequence[views.Row], steps: Sequence[views.Row]) -> dict[str, str]:
    """How a notice fares, by a word for each step. `rows`: of `seller_notices`; `steps`: what the
    seller did about its reviews since then, and their ends."""
    of_all = len(rows)

    def reached(step: str) -> str:
        latest: dict[str, datetime] = {}
        for row in steps:
            if row["step"] == step:
                at = row["occurred_at"]
                latest[row["process_id"]] = max(latest.get(row["process_id"], at), at)
        if not latest:
            return _("not yet")
        at = formats.minute(max(latest.values()))
        if of_all == 1:
            return at
        of = {"n": formats.number(len(latest)), "total": formats.number(of_all)}
        return _("{instant} · {n} of {total}", instant=at, **of)

    opened_at = _first(
        [
            *_all(rows, "opened_at"),
            *(row["occurred_at"] for row in steps if row["step"] == "opened"),
        ]
    )
    return {
        _("Sent"): _sent(rows[0]),
        **_way(rows, opened_at),
        _("Answered"): reached("answered"),
        _("Confirmed"): reached("confirmed"),
        _("Finished"): reached("finished"),
    }


def _way(rows: Sequence[views.Row], opened_at: datetime | None) -> dict[str, str]:
    """How far a notice came until it was opened. A call or letter is recorded by who made it."""
    row, unknown = rows[0], _("unknown")
    if row["channel"] in BY_HAND:
        return {_("Outcome"): " · ".join(_outcome(rows)) or unknown}
    accepted_at, delivered_at = (_first(_all(rows, it)) for it in ("accepted_at", "delivered_at"))
    accepted = unknown if accepted_at is None else formats.minute(accepted_at)
    if (failed_at := _first(_all(rows, "failed_at"))) is not None:
        accepted = _("no, not sent: {instant}", instant=formats.minute(failed_at))
    arrived = unknown
    if (bounced_at := _first(_all(rows, "bounced_at"))) is not None:
        arrived = _("no, it came back: {instant}", instant=formats.minute(bounced_at))
    elif delivered_at is not None:
        arrived = formats.minute(delivered_at)
    elif opened_at is not None:
        arrived = _("by {instant} at the latest", instant=formats.minute(opened_at))
    opened = unknown if opened_at is None else formats.minute(opened_at)
    return {_("Accepted"): accepted, _("Arrived"): arrived, _("Opened"): opened}


def _sent(row: views.Row) -> str:
    """When, by which channel and by whom."""
    channel = formats.plain(code_texts.word(codes.SELLER_CHANNELS, row["channel"]))
    by = _("by the schedule") if row["rung"] is not None else formats.plain(row["actor"] or "")
    return " · ".join(filter(None, (formats.minute(row["sent_at"]), channel, by)))


def _in_a_line(rows: Sequence[views.Row]) -> list[str]:
    return [_sent(rows[0]), *_outcome(rows)]


def _outcome(rows: Sequence[views.Row]) -> list[str]:
    """What became of a notice, in words; nothing where nothing is known."""
    row = rows[0]
    if row["retracted_at"] is not None:
        return [_("retracted")]
    if row["outcome"] is not None:
        said = [formats.plain(code_texts.word(codes.CALL_OUTCOMES, row["outcome"]))]
        if row["promised_for"] is not None:
            said.append(formats.plain(occurrences.promised(row["promised_for"])))
        return said
    return next(([_(text)] for column, text in _FATES.items() if _all(rows, column)), [])


_FATES: Final = {
    "bounced_at": N_("bounced"),
    "failed_at": N_("not sent"),
    "opened_at": N_("opened"),
    "delivered_at": N_("delivered"),
    "accepted_at": N_("accepted, arrival unknown"),
    "uncertain_at": N_("unknown whether it was sent"),
}


def _all(rows: Iterable[views.Row], column: str) -> list[datetime]:
    return [row[column] for row in rows if row[column] is not None]


def _first(instants: Iterable[datetime]) -> datetime | None:
    return min(instants, default=None)
