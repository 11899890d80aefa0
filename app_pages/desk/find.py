"""Finds a process or a seller from the header of every page: by part of an id, by a tax id, and by
name or e-mail for those who may see personal data.

What is typed stands in no URL. A tax id is compared by its keyed digest; names are compared in
memory, and a ledger without bodies has only their masks. Names are shown masked.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import streamlit as st

from app_pages.door import access
from app_pages.language import formats, words
from app_pages.language.i18n import _
from app_pages.parts import links, lists, views
from pipeline.contract.body import MAX_ID_CHARACTERS
from pipeline.ledger import service
from pipeline.serve.roles import Permission
from pipeline.texts import is_tax_id

FEWEST_CHARACTERS: Final = 3
SHOWN: Final = 6
"""Of processes, and of sellers."""
MENTIONS: Final = 60

_BOX: Final = "find"
_ASKED: Final = "find asked"
_PLACE: Final = "find asked on"
_SPACES: Final = re.compile(r"\s+")


class Found(NamedTuple):
    """What fits the words that were typed, the closest first, and whether there is more."""

    processes: Sequence[views.Row]
    sellers: Sequence[str]
    names: Mapping[str | None, str]
    is_cut: bool

    @property
    def total(self) -> int:
        """How many are shown."""
        return len(self.processes) + len(self.sellers)


def box() -> None:
    """The search box; nothing for those whose role opens no page about one process or seller."""
    if access.may_open("process"):
        st.text_input(
            _("Find"),
            key=_BOX,
            type="search",
            icon=":material/search:",
            placeholder=_("Process, seller, tax id, name"),
            label_visibility="collapsed",
            on_change=_take,
            width=204,
        )


def _take() -> None:
    """Keeps what was typed for the page that is drawn next, and empties the box."""
    st.session_state[_ASKED] = _SPACES.sub(" ", st.session_state[_BOX]).strip()[:MAX_ID_CHARACTERS]
    st.session_state[_BOX] = ""
    st.session_state.pop(_PLACE, None)


def show(page: str) -> None:
    """What was found, with the way there; one alone is opened at once. It is gone on the next
    page. `page`: which one is drawn."""
    text = st.session_state.get(_ASKED)
    if not text or not access.may_open("process"):
        return
    place = (page, *map(st.query_params.get, ("process", "seller_id")))
    if st.session_state.setdefault(_PLACE, place) != place:
        st.session_state.pop(_ASKED)
        return
    with st.container(border=True, key="found"):
        if len(text) < FEWEST_CHARACTERS:
            st.markdown(_("Type at least {n} characters.", n=formats.number(FEWEST_CHARACTERS)))
            _close()
            return
        found = look_up(text)
        if found.total == 1:
            del st.session_state[_ASKED]
            if found.processes:
                links.open_process(found.processes[0]["process_id"])
            links.open_seller(found.sellers[0])
        _show(text, found)
        _close()


def _close() -> None:
    st.button(
        _("Close"), icon=":material/close:", on_click=st.session_state.pop, args=(_ASKED, None)
    )


def _show(text: str, found: Found) -> None:
    if not found.total:
        st.markdown(
            _(
                "Nothing in the log fits {text}.",
                text=formats.code(views.shown("process_id", text)),
            )
        )
    for row in found.processes:
        name = found.names.get(row["seller_id"], "")
        note = f"{words.word(words.STATES, row['state'])} · {formats.plain(name)}".strip(" ·")
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            links.to_process(row["process_id"], is_named=True)
            st.markdown(formats.muted(note), width="content")
    for seller in found.sellers:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            links.to_seller(seller, is_named=True)
            note = formats.plain(found.names.get(seller, ""))
            if note:
                st.markdown(formats.muted(note), width="content")
    if found.is_cut:
        st.markdown(formats.muted(_("There are more: type more of it.")))


def look_up(text: str) -> Found:
    """Processes and sellers that fit a text."""
    exact = views.read("process_state", where={"process_id": text})
    processes = exact or views.read("process_state", contains={"process_id": text}, limit=SHOWN + 1)
    sellers = list(dict.fromkeys(_sellers(text)))
    listed = [{"seller_id": it} for it in sellers[:SHOWN]]
    return Found(
        processes[:SHOWN],
        sellers[:SHOWN],
        lists.seller_names([*processes[:SHOWN], *listed]),
        max(len(processes), len(sellers)) > SHOWN,
    )


def _sellers(text: str) -> Iterable[str]:
    """The sellers that fit a text, those whose id it is first."""
    known = views.read_one("seller_names", where={"seller_id": text})
    reviewed = views.read_one("process_state", where={"seller_id": text})
    if known is not None or reviewed is not None:
        yield text
        return
    held = service.current()
    if is_tax_id(text) and (key := held.keys.of_taxpayer(text)) is not None:
        yield from _mentioned(where={"taxpayer_key": key.hex()})
        return
    for row in views.read("process_state", contains={"seller_id": text}, limit=MENTIONS):
        yield row["seller_id"]
    for row in views.read("seller_names", contains={"seller_id": text}, limit=MENTIONS):
        yield row["seller_id"]
    if access.may(Permission.UNMASK):
        if "@" not in text:
            yield from _mentioned(contains={"seller_name": text})
        yield from _mentioned(contains={"email": text})


def _mentioned(
    *, where: Mapping[str, object] | None = None, contains: Mapping[str, str] | None = None
) -> Iterable[str]:
    """The sellers of whom an event said so; never kept for another reader."""
    rows = service.current().reader.read(
        "seller_identities",
        as_of=views.as_of(),
        where=where,
        contains=contains,
        limit=MENTIONS,
        unmask=True,
    )
    yield from rows.column("seller_id").to_pylist()
