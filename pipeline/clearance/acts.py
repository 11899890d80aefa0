"""Says which acts need a second person, and what exactly is asked of each. Pure."""

import hashlib
import hmac
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from pipeline import instants
from pipeline.contract.body import MAX_ID_CHARACTERS, JsonValue, canonical_json
from pipeline.errors import CallerError
from pipeline.ledger.arrow import MASKED_COLUMNS
from pipeline.ledger.views import catalogue
from pipeline.ledger.views.formats import plain
from pipeline.settings import FourEyes, Settings

OVERRIDE: Final[FourEyes] = "override"
UNMASK: Final[FourEyes] = "unmask"
EXPORT: Final[FourEyes] = "export"
FORGET: Final[FourEyes] = "forget"

ONE_SUBJECT: Final = ("process_id", "seller_id", "attempt_id")
"""A filter by one id in one of these columns asks about one subject; any other about many."""
HIDDEN: Final = "…"

_UNSEEN: Final = (
    (0x034F, 0x034F),  # a joiner of marks
    (0x115F, 0x1160),  # fillers of Hangul
    (0x17B4, 0x17B5),  # vowels of Khmer that nobody writes
    (0x180B, 0x180F),  # variants of Mongolian
    (0x2800, 0x2800),  # Braille without a dot
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),  # variants of any character
    (0xFFA0, 0xFFA0),
    (0xFFFC, 0xFFFC),  # the place of an object
    (0xE0000, 0xE0FFF),  # tags and further variants
)
"""What Unicode says is not shown (Default_Ignorable_Code_Point), or shown as a blank, beside what
its categories say."""
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
_LOOKS: Final = str.maketrans({it[0]: it[1] for it in _PAIRS.split()})
"""Letters of Greek and Cyrillic, and what each looks like as it is written: a capital may look like
another letter than its small one."""
_LUNATE: Final = str.maketrans("Ϲϲ", "Сс")
"""Greek letters that Unicode's forms take for a sigma, and the Cyrillic one that looks the same."""
_ALIKE: Final = frozenset({"LATIN", "GREEK", "CYRILLIC"})
"""Alphabets whose letters look alike."""
_LETTERS: Final = ("Lu", "Ll", "Lt", "Lo")


class Terms(NamedTuple):
    """What the settings say: which acts wait, and for how long a request holds."""

    acts: frozenset[FourEyes]
    span: int  # microseconds from the request to the latest moment at which the act may begin
    has_logins: bool
    """Whether people log in: then only an identity that was proved may decide."""

    @classmethod
    def of(cls, settings: Settings) -> "Terms":
        """The terms of some settings."""
        span = round(settings.four_eyes_hours * instants.HOUR)
        return cls(settings.acts_of_two, span, settings.login != "none")


NOBODY: Final = Terms(frozenset(), 0, False)
"""The terms under which no act waits."""


class Asked(NamedTuple):
    """An act as somebody asks for it: nothing else is cleared by the second person's word."""

    act: FourEyes
    what: Mapping[str, JsonValue]
    shown: Mapping[str, JsonValue]
    """The same without what says something about a person: lists and pages show it."""
    process_id: str | None = None
    seller_id: str | None = None

    def request_id(self, actor: str, number: int, log_key: bytes) -> str:
        """The name of one person's request for exactly this, the `number`-th of them. Lists show
        it: without the log's key it would tell a filter to whoever tried all tax ids. Raises
        `CallerError` for a name that cannot be compared: who has it could approve it under another.
        """
        name = folded(actor)
        if actor.strip() and not name:
            raise CallerError(
                "A second person's word is needed, and nobody was asked for it",
                "nobody can tell how your name reads: it mixes alphabets, is unseen or too long",
                "write it in letters of one alphabet, and not too many",
            )
        question = {"act": self.act, "what": dict(self.what), "actor": name, "n": number}
        return f"clr_{hmac.digest(log_key, canonical_json(question), 'sha256').hex()[:24]}"


def folded(name: str) -> str:
    """A name as it is compared: upper case, width, spaces, what nobody sees and a letter of another
    alphabet that looks the same make no other. Empty where nobody can say how it reads: in one of
    its words alphabets are mixed otherwise, or it reads in two ways, or it is longer than any."""
    if len(name) > MAX_ID_CHARACTERS:
        return ""  # a row of accents takes Python the square of its length, and all others wait
    spaced = " ".join(unicodedata.normalize("NFKC", name.translate(_LUNATE)).split())
    words = "".join(it for it in spaced if not _is_unseen(it)).split()
    read = [_read(it) for it in words]
    return " ".join(read) if all(read) else ""


def _read(word: str) -> str:
    alphabets = _alphabets(word)
    if alphabets <= {"LATIN"}:
        return _seen(word)
    # A small letter may look like another one than its capital does: who writes it chooses.
    readings = {_seen(it) for it in (word, word.upper(), word.lower())}
    latin = [it for it in readings if _alphabets(it) <= {"LATIN"}]
    if latin:
        return latin[0] if len(latin) == 1 else ""
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


def _is_unseen(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Cn") or any(
        first <= ord(character) <= last for first, last in _UNSEEN
    )


def rows(
    view: str,
    *,
    as_of: int | None,
    where: Mapping[str, object],
    contains: Mapping[str, str] | None = None,
    between: Mapping[str, tuple[object, object]] | None = None,
    order_by: str | None = None,
    limit: int | None = None,
    offset: int = 0,
) -> Asked | None:
    """What somebody asks who wants to see personal values of a view's rows; None where the filter
    names one process, seller or attempt. Arguments as for `Reader.read`; what says
    something about a person stands by a digest (`pipeline.clearance.sought`)."""
    if any(isinstance(where.get(column), str) for column in ONE_SUBJECT):
        return None
    filters = {
        "where": {column: plain(value) for column, value in where.items()},
        "contains": dict(contains or {}),
        "between": {column: [plain(it) for it in ends] for column, ends in (between or {}).items()},
    }
    said: dict[str, Any] = {"view": view, "order_by": order_by, "limit": limit, "offset": offset}
    said["as_of"] = None if as_of is None else instants.canonical(as_of)

    def hidden(of: Mapping[str, Any]) -> dict[str, Any]:
        hide = personal_columns()
        return {it: HIDDEN if it in hide or "hmac:" in str(of[it]) else of[it] for it in of}

    shown = {name: hidden(some) for name, some in filters.items() if some}
    brief = {name: it for name, it in said.items() if it}
    return Asked(UNMASK, {**said, **filters}, {**brief, **shown})


@cache
def personal_columns() -> frozenset[str]:
    """Columns whose values say something about a person: no list of requests shows them."""
    shown = {column for column, kind in catalogue.kinds().items() if kind == "personal"}
    return frozenset(shown.union(*MASKED_COLUMNS.values()))


def package(scope: Mapping[str, str], **more: JsonValue) -> Asked:
    """What somebody asks who wants a full package. `scope`: as its parameters.json states it."""
    what: dict[str, JsonValue] = {**scope, **more}
    shown = {name: it for name, it in what.items() if it}
    return Asked(EXPORT, what, shown, scope.get("process"), scope.get("seller"))


def erasure(seller_id: str) -> Asked:
    """What somebody asks who wants to erase what came of a seller."""
    what: dict[str, JsonValue] = {"seller": seller_id}
    return Asked(FORGET, what, what, None, seller_id)


def override(process_id: str, seller_id: str, payload: bytes, gates: tuple[str, ...]) -> Asked:
    """What somebody asks who wants to send a payload although these gates refuse it."""
    what: dict[str, JsonValue] = {
        "process": process_id,
        "seller": seller_id,
        "payload_sha256": hashlib.sha256(payload).hexdigest(),
        "gates": sorted(gates),
    }
    return Asked(OVERRIDE, what, what, process_id, seller_id)
