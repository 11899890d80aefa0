"""Translates the pages: English stands in the source, Portuguese in one gettext catalogue.

`locale/pt_BR.po` is an ordinary PO file, so that a translator can work on it with the tools of the
trade. Texts that are looked up by a code are marked with `N_` where they stand.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path

import streamlit as st
from babel import Locale
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

LANGUAGES: Mapping[str, Locale] = {"en": Locale("en", "GB"), "pt": Locale("pt", "BR")}
# The only scripts of our own; the content security policy lets these through by their digests.
LANGUAGE_SCRIPTS: Mapping[str, str] = {
    code: f"document.documentElement.lang = '{str(spoken).replace('_', '-')}'"
    for code, spoken in LANGUAGES.items()
}
CATALOGUE = Path(__file__).with_name("locale") / "pt_BR.po"

_OF_THIS_RUN: ContextVar[str | None] = ContextVar("language", default=None)


def language() -> str:
    """The reader's choice, `en` or `pt`; the browser's language until there is one."""
    return _OF_THIS_RUN.get() or _asked()


def look_up_language() -> None:
    """Looks up the reader's language, at the beginning of a run and once more after its control.
    A page has some four hundred texts, and a run is one thread's, so what it found out is
    forgotten with it."""
    _OF_THIS_RUN.set(_asked())


def _asked() -> str:
    chosen = st.session_state.get("lang") or st.query_params.get("lang")
    return str(chosen) if chosen in LANGUAGES else preferred(st.context.locale)


def declare_language() -> None:
    """Tells the browser which language the page is in, for whoever has it read aloud."""
    st.html(f"<script>{LANGUAGE_SCRIPTS[language()]}</script>", unsafe_allow_javascript=True)


def preferred(browser_locale: str | None) -> str:
    return "pt" if (browser_locale or "").lower().startswith("pt") else "en"


def locale() -> Locale:
    return LANGUAGES[language()]


def N_(message: str) -> str:
    """Marks a text for the catalogue; `_` translates it when it is shown."""
    return message


def _(message: str, /, **values: object) -> str:
    """The text in the reader's language, with `{names}` filled in."""
    text = translations(language()).gettext(message)
    return text.format(**values) if values else text


def said_in(into: str, message: str, /, **values: object) -> str:
    """A text in another language than the reader's: `en` or `pt`."""
    text = translations(into).gettext(message)
    return text.format(**values) if values else text


def ngettext(one: str, many: str, count: int, /, **values: object) -> str:
    """`one` or `many`, as the language's plural asks; `values` fill in the `{names}`."""
    return translations(language()).ngettext(one, many, count).format(**values)


@cache
def translations(into: str) -> NullTranslations:
    if into == "en":
        return NullTranslations()
    compiled = BytesIO()
    with CATALOGUE.open("rb") as file:
        write_mo(compiled, read_po(file, locale="pt_BR"))
    compiled.seek(0)
    return GNUTranslations(compiled)
