"""Finds a process or a seller from the header of every page: by part of an id, by a tax id, and by
name or e-mail for those who may see personal data.

`/` or Ctrl-K leads to the box, Enter asks, arrows and Enter go on. What was found lies over the
page, which is not drawn again for it. What is typed stands in no URL. A tax id is compared by its
keyed digest; names are compared in memory, and a ledger without bodies has only their masks. A
search by part of a name or an address is in the log before its answer is shown
(`pipeline/serve/searches.py`).
"""

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import streamlit as st

from app_pages.door import access
from app_pages.language import code_texts, formats
from app_pages.language.i18n import N_, _
from app_pages.parts import acting, address, elements, links, seller_names, views
from pipeline.clearance.clearances import Awaited
from pipeline.continuity import service
from pipeline.contract.body import MAX_ID_CHARACTERS
from pipeline.errors import PrazoError
from pipeline.language import codes
from pipeline.serve import searches
from pipeline.serve.roles import Permission
from pipeline.texts import folded, is_tax_id

FEWEST_CHARACTERS: Final = 3
SHOWN: Final = 6
"""Of processes, and of sellers."""
SHOWN_AT_MOST: Final = 30
"""Once more was asked for, and on a page that is about one person, where nothing is covered by what
was found."""
MENTIONS: Final = 60

_BOX: Final = "find"
_ASKED: Final = "find asked"
_MORE: Final = "find more of what was asked"
_PLACE: Final = "find asked on"
_HITS: Final = "find hits"
_SESSION: Final = "find session"
_PERSON_BOX: Final = "person"
_PERSON: Final = "person asked"
_FITS: Final[Mapping[str, str]] = {
    "id": N_("id"),
    "tax_id": N_("tax id"),
    "name": N_("name"),
    "email": N_("e-mail address"),
}
_SPACES: Final = re.compile(r"\s+")


class Found(NamedTuple):
    """What fits the words that were typed, and whether there is more; sellers who have something
    open come first."""

    text: str
    """What was typed."""
    processes: Sequence[views.Row]
    sellers: Sequence[str]
    fits: Mapping[str, str]
    """Seller -> a code of `_FITS`: what of them the text fits."""
    names: Mapping[str | None, str]
    """Of their sellers, masked where they are not shown."""
    in_clear: Mapping[str | None, str]
    """Those of them that are shown."""
    tax_ids: Mapping[str | None, str]
    """Of their sellers, masked."""
    waiting: Mapping[str | None, views.Row]
    """Of these sellers: what is open, as `seller_watchlist` has it."""
    is_cut: bool
    refused: PrazoError | None = None
    """Why names and addresses were not searched."""

    @property
    def total(self) -> int:
        """How many are shown."""
        return len(self.processes) + len(self.sellers)


def box(page: str) -> None:
    """The search box; nothing for those whose role opens no page about one process or seller.
    `page`: which one is drawn."""
    if access.may_open("process"):
        _search(page)


@st.fragment
def _search(page: str) -> None:
    _forget_elsewhere(page)
    with st.container(key="search", width="content"):
        st.text_input(
            _("Find"),
            key=_BOX,
            type="search",
            icon=":material/search:",
            placeholder=_("/ Process, seller, tax id, name"),
            label_visibility="collapsed",
            on_change=_take,
            width=204,
        )
        with st.container(key="find_hint"):  # while somebody types, and nothing is found yet
            st.markdown(formats.muted(_("Press Enter to search.")))
        _show()


def _take() -> None:
    """Keeps what was typed for what is drawn next; it stays in the box, since there may be more to
    type."""
    st.session_state[_ASKED] = _SPACES.sub(" ", st.session_state[_BOX]).strip()[:MAX_ID_CHARACTERS]
    st.session_state.pop(_HITS, None)
    st.session_state.pop(_MORE, None)
    st.session_state.pop(_PLACE, None)


def _forget() -> None:
    st.session_state.pop(_ASKED, None)
    st.session_state[_BOX] = ""


def _forget_elsewhere(page: str) -> None:
    """What was found is gone on the next page, and so is what was typed."""
    place = (page, *map(st.query_params.get, ("process", "seller_id")))
    if st.session_state.get(_ASKED) and st.session_state.setdefault(_PLACE, place) != place:
        _forget()


def _show() -> None:
    """What was found, with the way there; one alone is opened at once."""
    text = st.session_state.get(_ASKED)
    if not text:
        return
    with st.container(border=True, key="found", gap="xsmall"):
        if len(text) < FEWEST_CHARACTERS:
            st.markdown(_("Type at least {n} characters.", n=formats.number(FEWEST_CHARACTERS)))
        else:
            with elements.failures_said():
                _find(text)
        st.button(
            _("Close"),
            icon=":material/close:",
            on_click=_forget,
            key="found_closed",
        )


def _find(text: str) -> None:
    most = SHOWN_AT_MOST if st.session_state.get(_MORE) else SHOWN
    with st.spinner(_("Searching …")):
        found = look_up(text, most)
    if found.total == 1:
        st.session_state[_PLACE] = ()  # also where the page that opens is the one that is open
        if found.processes:
            links.open_process(found.processes[0]["process_id"])
        links.open_seller(found.sellers[0])
    _list(text, found)


def _list(text: str, found: Found) -> None:
    _say_refused(found)
    if not found.total:
        _say_nothing_fits(text)
    for row in found.processes:
        with _hit():
            links.to_process(row["process_id"], is_named=True)
            st.markdown(_about(found, row["seller_id"], row["state"], row), width="content")
    for seller in found.sellers:
        with _hit():
            # Whoever types a name looks for that; a masked one tells less than an id.
            name = found.in_clear.get(seller)
            links.to_seller(seller, is_named=True, name=name)
            own = views.shown("seller_id", seller)
            _about_seller(found, seller, beside=own if name else None)
    if found.is_cut and not st.session_state.get(_MORE):
        label = _("Show up to {n} of each", n=formats.number(SHOWN_AT_MOST))
        st.button(label, icon=":material/expand_more:", on_click=_ask_for_more, key="found_more")
    else:
        _say_if_cut(found)
    seller_names.of_found([{"seller_id": it} for it in found.names])


def _ask_for_more() -> None:
    st.session_state[_MORE] = True


def _say_refused(found: Found) -> None:
    if isinstance(found.refused, Awaited):
        st.info(_("To search by part of a name or an address waits for a second person."))
        links.to_alerts(_("What waits for a second person"))
    elif found.refused is not None:
        st.info(
            _(
                "Names and addresses were not searched: under your name that was done often within"
                " this hour. Search by a whole id, tax id or address, or wait."
            )
            if isinstance(found.refused, searches.TooManySearches)
            else _("Names and addresses were not searched.")
        )


def _say_nothing_fits(text: str) -> None:
    shown = formats.code(views.shown("process_id", text))
    st.markdown(_("Nothing in the log fits {text}.", text=shown))


def _about_seller(found: Found, seller: str, beside: str | None = None) -> None:
    """`beside`: what stands in the place of the name, where that stands already."""
    waiting = found.waiting.get(seller)
    state = "" if waiting is None else waiting["worst_state"]
    said = [_about(found, seller, state, waiting, beside)]
    if waiting is not None:
        at = waiting["last_contact_at"]
        contact = _("last contact {instant}", instant=formats.minute(at)) if at else ""
        said.append(formats.muted(contact or _("never contacted")))
    st.markdown(" · ".join(said), width="content")


def _say_if_cut(found: Found) -> None:
    if found.is_cut:
        st.markdown(formats.muted(_("There are more: type more of it.")))


def person() -> str:
    """The seller whom a page is about: the one in its address, or whom the reader finds here by
    what the box of the header takes, which counts as a search. Empty until there is one. A new
    search is about nobody yet; the way back from somebody leads to whom else the last one found."""
    with (
        st.form("person", border=False),
        st.container(horizontal=True, vertical_alignment="bottom", gap="small"),
    ):
        label = _("Seller id, name, e-mail address or tax id")
        st.text_input(label, key=_PERSON_BOX, max_chars=MAX_ID_CHARACTERS, width=360)
        st.form_submit_button(_("Find the person"), icon=":material/search:", on_click=_seek)
    if is_person_asked():
        with elements.failures_said():
            _find_person(_typed())
    return st.query_params.get("seller_id", "")


def is_person_asked() -> bool:
    """Whether what was found stands there to choose from, or that nobody was."""
    text = st.session_state.get(_PERSON, "")
    return bool(text) and text == _typed() and not st.query_params.get("seller_id")


def _typed() -> str:
    return _SPACES.sub(" ", st.session_state.get(_PERSON_BOX, "")).strip()


def _seek() -> None:
    st.session_state[_PERSON] = _typed()
    st.session_state.pop(_HITS, None)
    st.query_params.pop("seller_id", None)


def _choose(seller: str) -> None:
    """Shows a person who was found, on the first page of what the page lists."""
    acting.catch_up()  # the page says who searched for them: this reader, a moment ago
    st.query_params.update({"seller_id": seller, address.PAGE: [], address.CHOSEN: []})


def _find_person(text: str) -> None:
    """Lists whom a text fits; one alone is shown at once."""
    if len(text) < FEWEST_CHARACTERS:
        st.markdown(_("Type at least {n} characters.", n=formats.number(FEWEST_CHARACTERS)))
        return
    with st.spinner(_("Searching …")):
        found = look_up(text, SHOWN_AT_MOST)
    of_processes = (it["seller_id"] for it in found.processes)
    people = [it for it in dict.fromkeys([*found.sellers, *of_processes]) if it]
    if len(people) == 1:
        st.session_state.pop(_PERSON)  # else the way back leads forth again
        _choose(people[0])
        return
    with st.container(border=True, gap="xsmall"):
        _say_refused(found)
        if not people:
            _say_nothing_fits(text)
        if people and not st.session_state.get(_ASKED):  # the box of the header has the same form
            seller_names.of_found([{"seller_id": it} for it in people])
        for seller in people:
            with _hit():
                name = formats.plain(views.shown("seller_id", seller))
                key = f"person {seller}"
                st.button(name, key=key, type="tertiary", on_click=_choose, args=(seller,))
                _about_seller(found, seller)
        _say_if_cut(found)


def _hit() -> Any:
    return st.container(horizontal=True, vertical_alignment="center", gap="xsmall")


def _is_former(text: str, name: str | None) -> bool:
    """Whether the name that fits what was typed is one that somebody has had before, by what they
    are called now; false where that is masked."""
    return name is not None and not all(it in folded(name) for it in folded(text).split())


def _about(
    found: Found,
    seller: str | None,
    state: str,
    timed: views.Row | None,
    beside: str | None = None,
) -> str:
    """Who it is, how it stands, and by when: what tells one hit from another."""
    parts = [formats.plain(beside or found.names.get(seller, ""))]
    if fit := found.fits.get(seller or ""):
        what = _(_FITS[fit])
        if fit == "name" and _is_former(found.text, found.in_clear.get(seller)):
            what = _("an earlier name")
        parts.append(_("fits: {what}", what=what))
    if tax_id := found.tax_ids.get(seller):
        parts.append(_("tax id {digits}", digits=formats.plain(tax_id)))
    parts.append(code_texts.word(codes.STATES, state) if state else _("no open review"))
    if timed is not None and state != "FINISHED":
        deadline = timed.get("next_deadline_at") or timed.get("deadline_at")
        parts.append(formats.minute(deadline))
        parts.append(formats.time_left(timed["seconds_to_deadline"]))
    return formats.muted(" · ".join(it for it in parts if it))


def look_up(text: str, most: int = SHOWN) -> Found:
    """Processes and sellers that fit a text, of each so many at most."""
    exact = views.read("process_state", where={"process_id": text})
    processes = exact or views.read("process_state", contains={"process_id": text}, limit=most + 1)
    fits: dict[str, str] = dict.fromkeys(_sellers(text), "tax_id" if is_tax_id(text) else "id")
    refused = None
    if not _is_found(text, [*fits]) and access.may(Permission.UNMASK):
        hits, refused = _people(text)
        fits |= {seller: of_them for seller, of_them in hits.items() if seller not in fits}
    sellers = [*fits]
    waiting = _by_seller("seller_watchlist", sellers)
    sellers.sort(key=lambda seller: seller != text and seller not in waiting)
    named = [*sellers[:most], *(it["seller_id"] for it in processes[:most])]
    about = [{"seller_id": it} for it in named]
    in_clear = seller_names.all_in_clear(about)
    return Found(
        text,
        processes[:most],
        sellers[:most],
        fits,
        in_clear or seller_names.masked(about),
        in_clear,
        {it: row["taxpayer_id"] for it, row in _by_seller("seller_names", named).items()},
        waiting,
        max(len(processes), len(sellers)) > most,
        refused,
    )


def _by_seller(view: str, sellers: Sequence[str | None]) -> dict[str | None, views.Row]:
    """Of these sellers, each one's row of a view, if they have one and the reader may see it."""
    ids = sorted({it for it in sellers if it is not None})
    if not ids or not access.may_read(view):
        return {}
    return {row["seller_id"]: row for row in views.read(view, where={"seller_id": ids})}


def _is_found(text: str, sellers: Sequence[str]) -> bool:
    """Whether the text is all of an id: nobody is looked for by it any further."""
    return is_tax_id(text) or text in sellers


def _people(text: str) -> tuple[Mapping[str, str], PrazoError | None]:
    """The sellers with a name or an address like this, each with which it is, or why that was
    not looked for. Asked once for what was typed, however often the page is drawn."""
    held, as_of = service.current(), views.as_of()
    asked = (text, as_of)
    if st.session_state.get(_HITS, (None, None))[0] == asked:
        return st.session_state[_HITS][1], None
    try:
        if searches.is_whole(text):
            hits = dict.fromkeys(searches.by_whole(held, text, as_of), "email")
        else:
            session = st.session_state.setdefault(_SESSION, secrets.token_hex(8))
            searcher = searches.Searcher(acting.reader_name(), session, acting.RECORDED_BY)
            hits = searches.by_part(held, text, as_of, searcher)
    except PrazoError as error:
        acting.catch_up()  # a request for a second person is an entry
        return {}, error
    st.session_state[_HITS] = (asked, hits)
    return hits, None


def _sellers(text: str) -> Iterable[str]:
    """The sellers that fit a text, those whose id it is first."""
    known = views.read_one("seller_names", where={"seller_id": text})
    reviewed = views.read_one("process_state", where={"seller_id": text})
    if known is not None or reviewed is not None:
        yield text
        return
    held = service.current()
    if is_tax_id(text):
        yield from searches.by_whole(held, text, views.as_of())
        return
    for row in views.read("process_state", contains={"seller_id": text}, limit=MENTIONS):
        yield row["seller_id"]
    for row in views.read("seller_names", contains={"seller_id": text}, limit=MENTIONS):
        yield row["seller_id"]
