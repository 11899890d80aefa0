"""Keeps the filters and choices of a page in its URL, as codes that are the same in both languages.

Streamlit's own binding writes a selection's label into the URL, so that a link shared in Portuguese
would not work in English. The inputs around every page (`lang`, `tz`, `as_of`) have labels of no
language; Streamlit binds them, and carries them from page to page.
"""

import contextlib
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import date
from typing import Final, Literal

import streamlit as st

from pipeline.contract.body import MAX_ID_CHARACTERS

PAGE: Final = "page"
CHOSEN: Final = "row"
SORT: Final = "sort"
FEW_PAGES: Final = 4
PAGE_WIDTH: Final = 52
MOST_DIGITS: Final = 9
EARLIEST_DAY: Final = date(1901, 1, 1)


def text(label: str, key: str, *, placeholder: str, width: int | Literal["stretch"]) -> str:
    """A line of text. Nothing typed leaves nothing in the URL. Spaces around what is typed are
    dropped; those in a link are kept, since an id may have them."""
    linked = st.query_params.get(key, "")
    _follow(key, linked)
    typed = st.text_input(
        label,
        key=key,
        type="search",
        placeholder=placeholder,
        width=width,
        max_chars=MAX_ID_CHARACTERS,
    )
    if typed != linked:
        typed = typed.strip()
    _write(key, [typed] if typed else [])
    return typed


def choices(
    label: str, options: Mapping[str, str], key: str, *, placeholder: str | None = None
) -> list[str]:
    """Any of the options (code -> label); none chosen means all of them.

    Few options stand side by side; with a placeholder they fold away into a list.
    """
    asked = asked_for(key, options)
    labels: Mapping[str, str] = st.session_state.get(_labels(key), {})
    is_renamed = any(labels.get(code) != options[code] for code in asked)
    if is_renamed or st.session_state.get(key) != asked:
        st.session_state[key] = asked
    st.session_state[_labels(key)] = dict(options)
    st.session_state[f"{_labels(key)} before"] = labels
    names = options.__getitem__
    chosen: list[str]
    if placeholder is None:
        chosen = st.pills(label, list(options), format_func=names, selection_mode="multi", key=key)
    else:
        chosen = st.multiselect(
            label, list(options), format_func=names, key=key, placeholder=placeholder
        )
    _write(key, chosen)
    return chosen


def asked_for(key: str, codes: Container[str]) -> list[str]:
    """What `choices` will return, for the numbers of filters that are drawn before it.

    A browser sends a choice by its label, which ends with a number. Where the number has changed
    meanwhile, Streamlit's folded list gives the former label and nothing else, so the last two
    labels of each option are remembered.
    """
    linked = st.query_params.get_all(key)
    if key not in st.session_state or st.session_state.get(_in_url(key)) != linked:
        return [code for code in linked if code in codes]
    known: dict[str, str] = {}
    for labels in (f"{_labels(key)} before", _labels(key)):
        known |= {name: code for code, name in st.session_state.get(labels, {}).items()}
    found = (known.get(it, it) for it in st.session_state[key])
    return [code for code in dict.fromkeys(found) if code in codes]


def choice(
    label: str,
    options: Mapping[str, str],
    key: str,
    *,
    help: str | None = None,
    default: str | None = None,
) -> str:
    """One of the options (code -> label); until another is chosen `default`, or the first of
    them."""
    codes = list(options)
    default = default or codes[0]
    asked = st.query_params.get(key, default)
    asked = asked if asked in options else default
    _follow(key, asked)
    if st.session_state[key] not in codes:  # another page has another input of that key
        st.session_state[key] = asked
    picked = st.segmented_control(
        label, codes, format_func=options.__getitem__, required=True, key=key, help=help
    )
    chosen = picked or default
    _write(key, [chosen] if chosen != default else [])
    return chosen


def one_of(label: str, options: Mapping[str, str], key: str, *, placeholder: str) -> str | None:
    """One of many options (code -> label), folded away into a list; None until one is chosen."""
    asked = st.query_params.get(key)
    _follow(key, asked if asked in options else None)
    chosen: str | None = st.selectbox(
        label,
        list(options),
        format_func=options.__getitem__,
        index=None,
        key=key,
        placeholder=placeholder,
    )
    _write(key, [chosen] if chosen is not None else [])
    return chosen


def day(key: str) -> date | None:
    """A day in the URL, to which a chart led. None where there is none that can be read, or it is
    at an end of the calendar."""
    with contextlib.suppress(ValueError):
        found = date.fromisoformat(st.query_params.get(key, ""))
        return found if EARLIEST_DAY <= found < date.max else None
    return None


def whole(key: str) -> int | None:
    """A whole number in the URL that has no input; None where there is none."""
    asked = st.query_params.get(key, "")
    return int(asked) if re.fullmatch("[1-9][0-9]{0,14}", asked) else None


def keep(key: str, number: int) -> None:
    """Writes such a number into the URL."""
    if whole(key) != number:
        st.query_params[key] = str(number)


def leave_out(key: str) -> None:
    """Takes a key that has no input out of the URL."""
    st.query_params.update({key: [], PAGE: [], CHOSEN: []})


def days(label: str, key: str, default: tuple[date, date]) -> tuple[date, ...]:
    """The first and the last day of a period, which may not end after the default does. While the
    reader has chosen only one of the two, that one alone."""
    asked = default
    with contextlib.suppress(ValueError):
        first, last = map(date.fromisoformat, st.query_params.get_all(key))
        if EARLIEST_DAY <= first <= last <= default[1]:
            asked = (first, last)
    _follow(key, asked)
    picked = st.date_input(label, max_value=default[1], format="DD/MM/YYYY", key=key)
    chosen = tuple(picked) if isinstance(picked, tuple) else (picked,)
    if len(chosen) == 2:
        _write(key, [] if chosen == default else [it.isoformat() for it in chosen])
    return chosen


OF_THE_FRAME: Final = frozenset({"as_of", "tz", "lang"})
"""The keys in the URL of every page, which Streamlit's own binding writes."""


def filters() -> list[tuple[str, str]]:
    """The filters and the order that stand in the URL."""
    left_out = {*OF_THE_FRAME, PAGE, CHOSEN}
    return [
        (key, value)
        for key in sorted(st.query_params)
        if key not in left_out
        for value in st.query_params.get_all(key)
    ]


def take(asked: Sequence[tuple[str, str]]) -> None:
    """Replaces the filters and the order in the URL by these. A link could not do that from the
    page that it leads to: Streamlit drops its query then."""
    changed: dict[str, list[str]] = {key: [] for key in st.query_params if key not in OF_THE_FRAME}
    for key, value in asked:
        if key not in OF_THE_FRAME:
            changed[key] = [*changed.get(key, []), value]
    st.query_params.update(changed)


def chosen() -> str:
    """The row of a list that the reader chose; "" for none."""
    return st.query_params.get(CHOSEN, "")


def choose(row: str) -> None:
    """Chooses a row of a list; "" none."""
    st.query_params.update({CHOSEN: [row] if row else []})


def order(columns: Iterable[str]) -> str | None:
    """The column, of these, by which the reader sorts a list, as `column` or `column desc`; None
    for the list's own order."""
    asked = st.query_params.get(SORT, "")
    column = asked.removeprefix("-")
    if column not in columns:
        return None
    return f"{column} desc" if asked.startswith("-") else column


def sort_by(column: str, *, is_sorted: str | None) -> None:
    """Sorts a list by a column, the other way round where it is sorted by it already, and shows
    its first page."""
    sign = "-" if is_sorted == column else ""
    st.query_params.update({SORT: f"{sign}{column}", PAGE: [], CHOSEN: []})


def page_number(pages: int) -> int:
    """The page of a long list that is asked for, between 1 and `pages`. `turn_pages` draws the
    links to the others, below the rows."""
    asked = st.query_params.get(PAGE, "")
    is_number = asked.isascii() and asked.isdigit() and len(asked) <= MOST_DIGITS
    number = min(max(int(asked), 1), pages) if is_number else 1
    _follow(PAGE, number)
    number = min(max(int(st.session_state[PAGE]), 1), pages)
    st.session_state[PAGE] = number
    return number


def only_page() -> int:
    """The same of a list that has no other: the page of a longer one, seen before, holds no more,
    or the first click here would draw the whole page, as if another page had been asked for."""
    st.session_state.pop(PAGE, None)
    return 1


def turn_pages(pages: int) -> None:
    """The links to the pages of a long list; called after `page_number`."""
    # Sized by its content it would have no room for two pages, and show one.
    width: int | Literal["content"] = PAGE_WIDTH * (pages + 2) if pages <= FEW_PAGES else "content"
    chosen = st.pagination(pages, key=PAGE, width=width)
    _write(PAGE, [str(chosen)] if chosen > 1 else [])


def _labels(key: str) -> str:
    """The name under which the session keeps the labels of options as they were last drawn."""
    return f"{key} labels"


def _in_url(key: str) -> str:
    """The name under which the session keeps what it last wrote into the URL, or found there."""
    return f"{key} in URL"


def _follow(key: str, asked: object) -> None:
    """Sets the input from the URL when someone else changed it: a link, or the back button."""
    in_url = st.query_params.get_all(key)
    if key not in st.session_state or st.session_state.get(_in_url(key)) != in_url:
        st.session_state[key] = asked


def _write(key: str, values: list[str]) -> None:
    """Writes into the URL what the reader chose, as one step of the browser's history. A choice of
    other rows starts on their first page; a link or the back button has a page of its own."""
    if values != st.query_params.get_all(key):
        changed = {key: values, CHOSEN: []}
        if key != PAGE and st.query_params.get_all(PAGE):
            st.session_state[PAGE] = 1
            changed[PAGE] = st.session_state[_in_url(PAGE)] = []
        st.query_params.update(changed)
    st.session_state[_in_url(key)] = values
