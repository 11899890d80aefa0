"""Translates texts: English stands in the source, Portuguese in one gettext catalogue.

`locale/pt_BR.po` is an ordinary PO file, so that a translator can work on it with the tools of the
trade. Texts that are looked up by a code are marked with `N_` or `NC_` where they stand.
"""

from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path
from typing import Final, Literal

Language = Literal["en", "pt"]
CATALOGUE: Final = Path(__file__).with_name("locale") / "pt_BR.po"
_AFTER_CONTEXT: Final = "\x04"
"""How gettext itself joins a context to its text."""


def N_(message: str) -> str:
    """Marks a text for the catalogue; it is translated when it is shown."""
    return message


def NC_(context: str, message: str) -> str:
    """Marks a text that Portuguese says otherwise in this context (`msgctxt`) than elsewhere."""
    return context + _AFTER_CONTEXT + message


def said_in(into: Language, message: str, /, **values: object) -> str:
    """A text in a language, `en` or `pt`, with `{names}` filled in."""
    text = translations(into).gettext(message)
    return text.format(**values) if values else text


def counted_in(into: Language, one: str, many: str, count: int, /, **values: object) -> str:
    """`one` or `many`, as the language's plural asks; `values` fill in the `{names}`."""
    return translations(into).ngettext(one, many, count).format(**values)


class _English(NullTranslations):
    def gettext(self, message: str) -> str:
        return message.rpartition(_AFTER_CONTEXT)[2]

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return self.gettext(msgid1 if n == 1 else msgid2)


@cache
def translations(into: Language) -> NullTranslations:
    """What translates into a language; into one that is not `pt`, the text as it stands."""
    if into != "pt":
        return _English()
    # Where nothing is translated, nobody waits 30 ms for these.
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    compiled = BytesIO()
    with CATALOGUE.open("rb") as file:
        write_mo(compiled, read_po(file, locale="pt_BR"))
    compiled.seek(0)
    portuguese = GNUTranslations(compiled)
    portuguese.add_fallback(_English())
    return portuguese
