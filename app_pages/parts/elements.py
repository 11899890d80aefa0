"""Pieces of a page that several pages show: empty states, errors, figures, actions, fields."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from typing import Any, Final, Literal, NoReturn

import pandas as pd
import streamlit as st

from app_pages.language import code_texts, faults, formats, next_actions
from app_pages.language.i18n import _
from app_pages.parts import views
from pipeline.continuity import service
from pipeline.errors import PrazoError
from pipeline.language.fields import listed_in
from pipeline.language.next_actions import NextAction

LOG = logging.getLogger(__name__)

MAX_PATHS: Final = 30  # a whole ACP has half as many


class PageEnd(Exception):
    """A page has shown all that it can."""


def end_page() -> NoReturn:
    """Ends a page before its last line. `st.stop` would end what stands around it, too."""
    raise PageEnd


def empty(what: str, how: str) -> None:
    """An empty state: what is missing, and what to do first."""
    with st.container(border=True, horizontal_alignment="center", gap="small"):
        st.space("small")
        st.markdown(f"**{what}**", text_alignment="center")
        st.markdown(formats.muted(how), text_alignment="center", width=560)
        st.space("small")


def empty_of_processes(what: str, how: str) -> None:
    """An empty list of something about reviews: what is missing, and what to do. Until the first
    review has come, that none has."""
    if views.count("process_state"):
        empty(what, how)
    else:
        empty(
            _("No review has come yet"), _("The Overview says what is left to do before one can.")
        )


def details(
    values: Mapping[str, str],
    *,
    alt: str | None = None,
    width: Literal["stretch", "content"] = "stretch",
) -> None:
    """A table of names and values, both Markdown. It is passed as a data frame, which takes a third
    of the time that Streamlit takes for a `dict`."""
    frame = pd.DataFrame({"value": list(values.values())}, index=list(values), dtype=object)
    st.table(frame, hide_index=False, hide_header=True, border="horizontal", width=width, alt=alt)


def edition(name: str, ids: Sequence[str]) -> int:
    """A number for the key of an element that is about these ids: with other ids it is another
    number, so that a press or a tick that was meant for those cannot reach it. It follows from the
    ids, and is not a counter: a page that stays open while the dashboard starts again sends its
    ticks to the new session, where a counter could have the same value for other ids. The digest is
    keyed, so that nobody can guess ids from it."""
    key = service.current().inbox.log_key
    digest = blake2b(
        "\0".join([name, *ids]).encode("utf-8", "surrogatepass"), key=key[:64], digest_size=6
    )
    return int.from_bytes(digest.digest())


def say(error: PrazoError) -> None:
    """Shows what failed, why, and what to do: in a few words of the reader's language, then in the
    error's own words, by which whoever runs Prazo finds it in the log."""
    fault = next(it for kind, it in faults.FAULTS.items() if isinstance(error, kind))
    st.error(
        f"{_(fault.remedy)}  \n{in_its_words(error.in_one_line)}",
        title=_(fault.name),
        icon=":material/error:",
    )


def say_failure(error: Exception) -> None:
    """Shows that something could not be drawn, to be called while the error is handled."""
    LOG.exception("a page could not be shown")
    unknown = PrazoError("This page failed", "the log of Prazo says more")
    say(error if isinstance(error, PrazoError) else unknown)


@contextmanager
def failures_said() -> Iterator[None]:
    """For a part of a page that is drawn by itself, as what runs every few seconds: it says what
    fails in it, and the rest of the page stands. Streamlit would say in English alone that
    something is hidden."""
    try:
        yield
    except Exception as error:
        say_failure(error)


def in_its_words(message: str) -> str:
    """A message of the program, as its log has it: the program speaks only English."""
    return _("Prazo says: {message}", message=formats.plain(message))


def facts(columns: int, *, least: int = 170) -> Any:
    """Where some figures stand side by side, each at least as wide in pixels."""
    return st.container(key="facts").grid(columns, min_column_width=least)


def fact(
    label: str,
    value: str,
    note: str,
    colour: code_texts.Colour = "gray",
    *,
    lead: Callable[[], None] | None = None,
    about: str | None = None,
) -> None:
    """A bordered figure with a note below it, as tall as its neighbours. `lead` draws the link to
    the rows that it counts, or of which it is a share: see `lead_if`. `about`: behind a question
    mark, what it rests on."""
    with st.container(border=True, height="stretch", gap="xsmall"):
        st.metric(label, value, note, delta_arrow="off", delta_color=colour, help=about)
        if lead is not None:
            lead()


def lead_if(
    some: object, lead: Callable[..., None], *named: str, **query: str | Sequence[str]
) -> Callable[[], None] | None:
    """A figure's way to its rows, a function of `links` with what that takes; None where the figure
    is nothing, since the link would lead to an empty list."""
    return partial(lead, *named, **query) if some else None


def say_deleted(process: views.Row) -> None:
    """Says of an open process that its seller was deleted; nothing of any other."""
    if process["seller_deleted_at"] is None or process["state"] == "FINISHED":
        return
    st.warning(
        _(
            "The platform deleted this seller on {instant}."
            " Ask the platform whether the review still stands.",
            instant=formats.minute(process["seller_deleted_at"]),
        ),
        icon=":material/person_off:",
    )


def cell(row: views.Row, column: str) -> str:
    """An id or a detail of a row in fixed width; nothing is a dash."""
    text = row[column]
    return formats.code("–" if text is None else views.shown(column, text))


def next_step(process: views.Row) -> str:
    """What to do next about a process, and how, as Markdown."""
    action = next_actions.of(process)
    reason = formats.muted(next_actions.reason(process))
    return f"{action.icon} **{_(action.name)}**  \n{next_actions.how(process)}  \n{reason}"


def action_row(action: NextAction, badges: str, lead: Callable[[], None], *, key: str) -> None:
    """A next action with how it is done, what waits for it, and the way there."""
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=key):
        st.markdown(f"{action.icon} **{_(action.name)}**  \n{formats.muted(_(action.how))}")
        st.markdown(badges, width="content")
        lead()


def paths(names: Sequence[str]) -> str:
    """Ids or paths, side by side; of very many the first, and how many more there are."""
    return _some([formats.code(code_texts.masked(it)) for it in names[:MAX_PATHS]], " ", len(names))


def fields(asked: Sequence[str]) -> str:
    """Fields by their names for people, each with its path beside, in the same way."""
    return _some([code_texts.field(it) for it in asked[:MAX_PATHS]], " · ", len(asked))


def detail(finding: views.Row) -> str:
    """What a finding names beside its rule; fields as fields stand everywhere."""
    listed = listed_in(finding["detail"])
    return fields(listed) if listed else cell(finding, "detail")


def _some(parts: Sequence[str], between: str, total: int) -> str:
    shown, rest = between.join(parts) or "–", total - len(parts)
    return shown if rest <= 0 else f"{shown} {_('and {n} more', n=formats.number(rest))}"


def say_if_cut(
    view: str, shown: Sequence[views.Row], limit: int, *, where: Mapping[str, object]
) -> None:
    """Says how many rows there are, where the limit left any out."""
    if len(shown) < limit:
        return
    total = views.count(view, where=where)
    if total > len(shown):
        say_cut(len(shown), total)


def say_cut(n: int, total: int) -> None:
    """Says how many there are, of which `n` are shown."""
    few = _("Showing {n} of {total}.", n=formats.number(n), total=formats.number(total))
    st.markdown(formats.muted(few))
