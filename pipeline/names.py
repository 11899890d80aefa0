"""Compares names of people and tokens by how they look, and says which names are our own.

A name that looks like another one is that one, whichever letters it is written in. The letters that
look like Latin ones are written here by hand for Greek and Cyrillic, where a capital may look like
another letter than its small one; those of all other scripts come from Unicode (`lookalikes.py`).
"""

import unicodedata
from typing import Final

from pipeline.contract.body import MAX_ID_CHARACTERS
from pipeline.lookalikes import LETTERS, OF_TWO
from pipeline.texts import is_unseen

_PAIRS: Final = (
    # Greek, capital and small, with its older letters and symbols
    "ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX ΘƟ ϜF ϺM ͿJ ϽƆ ϾC ϿƆ ͲT ͰⱵ ϷÞ "
    "αa βb γy εe ζz ηn ιi κk μu νv οo ρp σo τt υu χx ωw θɵ ϝf ϻm ϳj ͻɔ ͼc ͽɔ ͳt ͱⱶ ϸþ "
    "ᴦr ᴨn ᴩp "
    # Cyrillic, capital and small, with the letters of other languages than Russian
    "АA ВB ЕE КK МM НH ОO РP СC ТT УY ХX ЬB ІI ЈJ ЅS ЄE ҪÇ ҮY ҺH ӀI ӔÆ ӘƏ ӨƟ "
    "ԀD ԌG ԚQ ԜW ѠW ѲƟ ѴV ꙆI ꙌW ꙨO ꙊY "
    "аa вb гr еe кk мm нh оo пn рp сc тt уy хx шw ьb іi јj ѕs єe ҫç үy һh ӏl ӕæ әə өɵ "
    "ԁd ԍg ԛq ԝw ѡw ѳɵ ѵv ꙇi ꙍw ꙩo ꙋy ћħ ҽe ᲀb ᲂo ᲃc ᲄt ᲅt "
    # an i without its dot
    "ıi"
)
_LOOKS: Final = str.maketrans({**LETTERS, **{it[0]: it[1] for it in _PAIRS.split()}})
"""Letters of other alphabets, and what each looks like as it is written: a capital may look like
another letter than its small one."""
_BY_HAND: Final = frozenset(it[0] for it in _PAIRS.split())
_LUNATE: Final = str.maketrans("Ϲϲ", "Сс")
"""Greek letters that Unicode's forms take for a sigma, and the Cyrillic one that looks the same."""
_ALIKE: Final = frozenset({"LATIN", "GREEK", "CYRILLIC"})
"""Alphabets whose letters look alike."""
_BLANK: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Fillers of Hangul, and Braille without a dot: shown as a blank, or not at all."""
_LETTERS: Final = ("Lu", "Ll", "Lt", "Lo")

NOBODY: Final = "(no name given)"
"""Who searches where nobody logs in, and gave no name."""
BY_RULE: Final = "by rule"
"""Who assigns where no person does."""
RESUMER: Final = "resume"
"""Who sends an attempt again by itself."""
OURS: Final = frozenset(
    {
        *("local", "loopback", "receiver", "webhook", "journey", "dashboard", "gateway", "alerts"),
        *("alert link", "forwarder", "forwarding", RESUMER, "prazo", NOBODY, BY_RULE),
    }
)
"""Names under which the program itself records, or tells its own callers from others: nobody else
may have one, or one that looks like it."""
_BEGINNINGS: Final = ("user:", "file:", "webhook:", "dashboard:")
"""What the program writes before a name: who ran a command, which file it was."""


def is_ours(name: str) -> bool:
    """Whether a name is one of the program's own, or looks like it."""
    seen = folded(name)
    return seen in OURS or seen.startswith(_BEGINNINGS)


def folded(name: str) -> str:
    """A name as it is compared: upper case, width, spaces, what nobody sees and a letter of another
    alphabet that looks the same make no other. Empty where nobody can say how it reads: in one of
    its words alphabets are mixed otherwise, or it reads in two ways, or it is longer than any."""
    if len(name) > MAX_ID_CHARACTERS:
        return ""  # a row of accents takes Python the square of its length, and all others wait
    spaced = " ".join(unicodedata.normalize("NFKC", name.translate(_LUNATE)).split())
    spaced = spaced.strip("".join(_BLANK))
    if _BLANK & {*spaced}:
        return ""
    words = "".join(it for it in spaced if not is_unseen(it)).split()
    read = [_read(it) for it in words]
    return " ".join(read) if all(read) else ""


def _read(word: str) -> str:
    alphabets = _alphabets(word)
    if alphabets <= {"LATIN"}:
        return "" if (OF_TWO - _BY_HAND) & {*word} else _seen(word)
    # A small letter may look like another one than its capital does: who writes it chooses.
    readings = {_seen(it) for it in (word, word.upper(), word.lower())}
    latin = [it for it in readings if _alphabets(it) <= {"LATIN"}]
    if latin:
        return latin[0] if len(latin) == 1 and not (OF_TWO - _BY_HAND) & {*word} else ""
    if len(alphabets) > 1 and alphabets & _ALIKE:
        return ""
    return unicodedata.normalize("NFKC", word.casefold())


def _seen(word: str) -> str:
    """How a word looks, in small Latin letters where it has letters that look like these. Accents
    are apart from their letters meanwhile."""
    looks = unicodedata.normalize("NFKD", word).translate(_LOOKS)
    return unicodedata.normalize("NFKC", looks.casefold())


def _alphabets(word: str) -> set[str]:
    letters = [it for it in word if unicodedata.category(it) in _LETTERS]
    return {unicodedata.name(it, "?").split()[0] for it in letters}
