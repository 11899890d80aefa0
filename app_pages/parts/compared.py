"""Shows a list at two instants side by side: what came, what went, what changed since."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import streamlit as st

from app_pages.language import columns as columns_of
from app_pages.language import formats, moments
from app_pages.language.i18n import _, ngettext
from app_pages.parts import downloads, folds, views
from pipeline import instants
from pipeline.continuity import service
from pipeline.ledger.views.catalogue import public
from pipeline.serve import compared
from pipeline.serve.compared import KIND, MOST_ROWS, THEN, Difference

WITH: Final = "compare"
"""Where the earlier instant stands in the URL: as one of `moments.ENDS`, or as such."""
SHOWN: Final = 100
_PICKED: Final = "compare picked"
_COLOURS: Final = {"changed": "orange", "came": "blue", "went": "gray"}

Grid = Callable[..., None]


def since() -> int | None:
    """The earlier instant, in microseconds; None where nothing is compared."""
    asked = st.query_params.get(WITH, "")
    if asked in moments.ENDS:
        there = moments.end_of(asked, views.moment(), formats.zone())
        return instants.from_datetime(there)
    at = instants.ending(asked, formats.zone(), service.current().now())
    return at if at is not None and 1900 < instants.of(at).year < 9000 else None


def control() -> None:
    """Chooses the earlier instant."""
    place = folds.popover(_("Compare"), icon=":material/compare_arrows:", key="comparing")
    if place is None:
        return
    with place:
        st.markdown(_("This list beside how it stood at an earlier instant."))
        for name, label in moments.ENDS.items():
            st.button(
                _(label), on_click=_compare, args=(name,), key=f"compare {name}", width="stretch"
            )
        st.datetime_input(
            _("Another instant"),
            value=None,
            key=_PICKED,
            format="DD/MM/YYYY",
            on_change=_take_picked,
        )


def _compare(asked: str) -> None:
    folds.close()
    st.query_params.update({WITH: [asked] if asked else []})
    st.session_state[_PICKED] = None  # what stays there cannot be picked again


def _take_picked() -> None:
    picked: datetime | None = st.session_state[_PICKED]
    if picked is not None:
        folds.close()
        there = picked.replace(tzinfo=formats.zone())
        st.query_params.update({WITH: instants.readable(instants.from_datetime(there))})


def show(
    view: str,
    cells: Callable[[views.Row], Mapping[str, Any]],
    columns: Mapping[str, Any],
    draw: Grid,
    **chosen: Any,
) -> None:
    """What differs from the earlier instant, under the same filters; nothing where none is asked
    for. `cells`, `columns`: of the list's grid; `draw`: draws such a grid."""
    at = since()
    if at is None:
        return
    with st.container(border=True, key="compared"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            then = instants.naive(at)
            st.markdown(
                _("Compared with **{instant}**", instant=formats.minute(then)), width="content"
            )
            st.button(_("Stop comparing"), icon=":material/close:", on_click=_compare, args=("",))
        if then >= views.moment():
            st.markdown(_("That is not earlier than what the page shows: choose another instant."))
            return
        asked = {name: it for name, it in chosen.items() if it is not None}
        earlier = views.read(view, at=at, limit=MOST_ROWS + 1, **asked)
        present = views.read(view, limit=MOST_ROWS + 1, **asked)
        if max(len(earlier), len(present)) > MOST_ROWS:
            st.markdown(
                _(
                    "More than {n} rows are not compared: choose filters.",
                    n=formats.number(MOST_ROWS),
                )
            )
            return
        key, own = public()[view].key, of_view(view, columns)
        found = compared.differences(earlier, present, key, own)
        _show(found, view, cells, columns, draw)
        if found:
            question = downloads.Question(
                view,
                views.as_of(),
                chosen.get("where") or {},
                chosen.get("contains") or {},
                chosen.get("between") or {},
                compared_with=at,
                columns=tuple(own),
            )
            downloads.offer(question, rows=len(found), key=f"compared {view}")


def of_view(view: str, columns: Mapping[str, Any]) -> list[str]:
    """The columns of a grid that are the view's own: what follows from the clock alone is not
    compared."""
    return [it for it in columns if it in public()[view].columns]


def _show(
    found: Sequence[Difference],
    view: str,
    cells: Callable[[views.Row], Mapping[str, Any]],
    columns: Mapping[str, Any],
    draw: Grid,
) -> None:
    counted = Counter(it.kind for it in found)
    changed, came, went = (counted[kind] for kind in compared.KINDS)
    said = (
        ngettext("{n} changed", "{n} changed", changed, n=formats.number(changed)),
        ngettext("{n} new", "{n} new", came, n=formats.number(came)),
        ngettext("{n} gone", "{n} gone", went, n=formats.number(went)),
    )
    st.markdown(f"**{' · '.join(said)}**")
    if not found:
        return
    names: dict[str, str] = {kind: _(columns_of.DIFFERENCES[kind]) for kind in compared.KINDS}
    differing = {column for it in found for column in it.changed}
    shown: dict[str, Any] = {KIND: _chips(names)}
    for column in of_view(view, columns):
        if column in differing:
            label = _("{column}, then", column=columns[column]["label"])
            shown[THEN + column] = {**columns[column], "label": label}
        shown[column] = columns[column]
    rows = []
    for one in found[:SHOWN]:
        row = {**(one.now or one.then or {})}
        shown_now = {**row, **cells(row)}
        before = {} if one.then is None else {**one.then, **cells({**one.then})}
        earlier = one.changed if one.now is not None else differing
        shown_then = {THEN + column: before[column] for column in earlier}
        if one.now is None:
            shown_now |= dict.fromkeys(differing)
        rows.append({**shown_now, **shown_then, KIND: [names[one.kind]]})
    draw(rows, shown, alt=_("What differs between the two instants"), key=f"compared {view}")
    if len(found) > SHOWN:
        few = _(
            "Showing {n} of {total}.", n=formats.number(SHOWN), total=formats.number(len(found))
        )
        st.markdown(formats.muted(few))


def _chips(names: Mapping[str, str]) -> Any:
    return st.column_config.MultiselectColumn(
        _(columns_of.DIFFERENCE),
        options=list(names.values()),
        color=[_COLOURS[it] for it in names],
        width=92,
    )
