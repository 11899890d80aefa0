"""Shows sellers by name: masked, or in clear for some minutes once a reason stands in the log.

One reason holds for all lists, pages and files of that person in that browser. A role that may
always see names leaves the same entries. Names in clear stay out of the answers that readers share
(`app_pages/parts/views.py`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import streamlit as st

from app_pages.door import access
from app_pages.language import formats
from app_pages.language.i18n import _
from app_pages.parts import acting, elements, folds, sights, views
from pipeline.clearance.clearances import Awaited
from pipeline.continuity import service
from pipeline.errors import PrazoError
from pipeline.log.actions import By
from pipeline.serve import shown_names
from pipeline.serve.roles import Permission
from pipeline.serve.shown_names import VIEW, Showing

ALWAYS: Final = "a role that may always see names"


def of(rows: Sequence[views.Row]) -> Mapping[Any, str]:
    """The names of the sellers whom the rows are about; none where the reader's role does not show
    people."""
    return all_in_clear(rows) or masked(rows)


def all_in_clear(rows: Sequence[views.Row]) -> Mapping[Any, str]:
    """As `of`, where names are shown in clear; none where they are masked, or could not be shown,
    which is said."""
    ids = _ids(rows)
    if not ids or not access.may_read(VIEW) or (seen := showing()) is None:
        return {}
    try:
        return seen.names(service.current(), ids, views.as_of())
    except PrazoError as error:
        elements.say(error)
        return {}


def masked(rows: Sequence[views.Row]) -> Mapping[Any, str]:
    """As `of`, masked also while names are shown."""
    ids = _ids(rows)
    if not ids or not access.may_read(VIEW):
        return {}
    known = views.read(VIEW, where={"seller_id": ids})
    return {row["seller_id"]: row["seller_name"] for row in known if row["seller_name"]}


def shown(seller_id: str | None, name: str | None, seen: Showing | None) -> str:
    """A seller where lists name them: by name where one is known, else by id; while names are shown
    it says after that that there is none, as if nothing had been shown otherwise. `seen`: what
    `showing` gives, asked once for all rows."""
    if name or not seller_id:
        return name or ""
    own = views.shown("seller_id", seller_id)
    return own if seen is None else _("{id}, no name", id=own)


def in_clear(seller_id: str | None) -> str | None:
    """The name of one seller where it is shown in clear; None where it is masked or unknown."""
    return all_in_clear([{"seller_id": seller_id}]).get(seller_id)


def say(row: views.Row) -> None:
    """The name of a row's seller on its card, where one is known."""
    if name := of([row]).get(row["seller_id"]):
        st.markdown(f"**{formats.plain(name)}**")


def showing() -> Showing | None:
    """By what whoever looks sees names in clear now; None where they are masked."""
    if not access.may(Permission.UNMASK):
        return None
    name = acting.reader_name()
    if (seen := sights.of(name)) is not None:
        return seen
    if name is None or not _is_always() or service.current().ledger.is_without_bodies:
        return None
    by = By(ALWAYS, name, acting.RECORDED_BY)
    return sights.keep(shown_names.begin(service.current(), by))


def control(rows: Sequence[views.Row], label: str) -> None:
    """The form that shows names, or the button that masks them again; nothing for those who may not
    see them, or see them always. `rows`: those that are drawn; `label`: of the closed form."""
    if not _may_ask(rows):
        return
    if showing() is None:
        _ask(rows, label, "")
    elif not _is_always():
        st.button(
            _("Mask names"),
            icon=":material/visibility_off:",
            key="mask_names",
            help=_("Names are shown; the log says to whom, whose and why."),
            on_click=sights.end,
        )


def of_found(rows: Sequence[views.Row]) -> None:
    """The same form where sellers were found by a search, beside which a list may have its own."""
    if not _may_ask(rows):
        return
    if showing() is None:
        _ask(rows, _("Show names"), "found_")
    elif not _is_always():
        _wait_for_the_end()  # the box alone is drawn again once they are shown


def mask_in_time() -> None:
    """On every page: names in clear leave it once their time is over."""
    if showing() is not None and not _is_always():
        _wait_for_the_end()


def _may_ask(rows: Sequence[views.Row]) -> bool:
    """Whether the reader may ask for the names of these rows' sellers, and the ledger has them."""
    may = access.may_read(VIEW) and access.may(Permission.UNMASK)
    return may and not service.current().ledger.is_without_bodies and bool(_ids(rows))


def _ask(rows: Sequence[views.Row], label: str, own: str) -> None:
    """The form that shows names. `own`: what its keys begin with."""
    place = folds.popover(label, icon=":material/visibility:", key=f"{own}show_names")
    if place is None:
        return
    with place, st.form(f"{own}names_form", border=False):
        st.markdown(
            _(
                "The log will say whose names were shown, to whom and why: on every list and in"
                " files, for {time}.",
                time=formats.seconds(service.current().settings.unmask_seconds),
            )
        )
        st.text_input(_("Why is it needed?"), key=f"{own}names_reason")
        acting.say_at(f"{own}names_reason")
        about = elements.edition("names", _ids(rows))
        press, named = lambda: _show(rows, own), _("Record the reason and show names")
        key, may = f"{own}names", Permission.UNMASK
        acting.submit(
            key, named, press, about=about, may=may, in_past=True, actor=f"{own}names_actor"
        )


def _show(rows: Sequence[views.Row], own: str) -> acting.Feedback:
    """Records whose names are shown, which are those of the rows that were drawn."""
    why, who = f"{own}names_reason", f"{own}names_actor"
    if (lacking := acting.missing(why, who)) is not None:
        return lacking
    reason, actor = acting.typed(why), acting.actor_of(who)
    made: list[Showing] = []

    def begin() -> None:
        held = service.current()
        seen = shown_names.begin(held, By(reason, actor, acting.RECORDED_BY))
        seen.names(held, _ids(rows), views.as_of())
        made.append(seen)

    error = acting.tried(begin, actor)
    if isinstance(error, Awaited):
        return acting.Feedback(_("To show names waits for a second person."), kept=reason)
    if error is not None:
        return acting.Feedback("", error=error, kept=reason)
    sights.keep(made[0])
    return acting.Feedback("", is_done=True, empties=(why,))


def _ids(rows: Sequence[views.Row]) -> list[str]:
    return sorted({row["seller_id"] for row in rows if row.get("seller_id") is not None})


def _is_always() -> bool:
    """Whether a role of the reader's may always see names."""
    whoever = access.person()
    always = service.current().settings.roles_shown_names
    return whoever is not None and not always.isdisjoint(whoever.roles)


@st.fragment(run_every=acting.WATCH_SECONDS)
def _wait_for_the_end() -> None:
    """Draws the page again once the time is over: names must not stay on an open page."""
    if showing() is None:
        said = _("Names are masked again: show them once more if you still need them.")
        acting.masked_in_time(said)
