"""Which language the reader of a page chose, and texts in it."""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Final

import streamlit as st
from babel import Locale

from pipeline.language import figures
from pipeline.language.catalogue import N_ as N_
from pipeline.language.catalogue import Language, counted_in
from pipeline.language.catalogue import said_in as said_in

LANGUAGES: Mapping[Language, Locale] = figures.NUMBERS
# The only scripts of our own; the content security policy lets these through by their digests.
LANGUAGE_SCRIPTS: Mapping[str, str] = {
    code: f"document.documentElement.lang = '{str(spoken).replace('_', '-')}'"
    for code, spoken in LANGUAGES.items()
}

_SEEN: Final = "language of the run before"
_OF_THIS_RUN: ContextVar[Language | None] = ContextVar("language", default=None)


def language() -> Language:
    """The reader's choice, `en` or `pt`; the browser's language until there is one."""
    return _OF_THIS_RUN.get() or _asked()


def look_up_language() -> None:
    """Looks up the reader's language, at the beginning of a run and once more after its control.
    A page has some four hundred texts, and a run is one thread's, so what it found out is
    forgotten with it."""
    _OF_THIS_RUN.set(_asked())
    st.session_state[_SEEN] = _said()


def _asked() -> Language:
    """What the control has, unless the address alone is another than in the run before: after Back,
    Forward or a link, the control knows of that only once it is drawn."""
    control, address = _said()
    before = st.session_state.get(_SEEN, (None, None))
    is_led = control == before[0] and address != before[1]
    chosen = address if is_led or control is None else control
    known = (it for it in LANGUAGES if it == chosen)
    return next(known, None) or preferred(st.context.locale)


def _said() -> tuple[str | None, str | None]:
    """Which language the control has, and which one the address."""
    return st.session_state.get("lang"), st.query_params.get("lang")


def declare_language() -> None:
    """Tells the browser which language the page is in, for whoever has it read aloud."""
    st.html(f"<script>{LANGUAGE_SCRIPTS[language()]}</script>", unsafe_allow_javascript=True)


def preferred(browser_locale: str | None) -> Language:
    return "pt" if (browser_locale or "").lower().startswith("pt") else "en"


def locale() -> Locale:
    return LANGUAGES[language()]


def _(message: str, /, **values: object) -> str:
    """The text in the reader's language, with `{names}` filled in."""
    return said_in(language(), message, **values)


def ngettext(one: str, many: str, count: int, /, **values: object) -> str:
    """`one` or `many`, as the language's plural asks; `values` fill in the `{names}`."""
    return counted_in(language(), one, many, count, **values)
