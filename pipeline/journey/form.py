"""Turns what a review asks for into questions, and what a seller typed into answers. No I/O.

One thing a screen: an address takes five of them. Each value passes the contract's own formats
(`pipeline/contract/fields.py`), so that what is recorded here is what may be sent.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from pipeline.contract.body import JsonValue
from pipeline.contract.fields import BODY, OF_OWNERS, OWNER, Format, shown_at
from pipeline.submit.demand import TYPES, Wanted

Kind = Literal["type", "bands", "band", "postal_code", "line", "state", "country", "other"]
FaultCode = Literal["missing", "postal_code", "long", "characters", "amount", "order", "choice"]

MAX_CHARACTERS: Final = 200
MAX_AMOUNT_DIGITS: Final = 18
"""Of a bound of the revenue: a longer one is a slip."""
STATES: Final[Mapping[str, str]] = {
    "AC": "Acre",
    "AL": "Alagoas",
    "AP": "Amapá",
    "AM": "Amazonas",
    "BA": "Bahia",
    "CE": "Ceará",
    "DF": "Distrito Federal",
    "ES": "Espírito Santo",
    "GO": "Goiás",
    "MA": "Maranhão",
    "MT": "Mato Grosso",
    "MS": "Mato Grosso do Sul",
    "MG": "Minas Gerais",
    "PA": "Pará",
    "PB": "Paraíba",
    "PR": "Paraná",
    "PE": "Pernambuco",
    "PI": "Piauí",
    "RJ": "Rio de Janeiro",
    "RN": "Rio Grande do Norte",
    "RS": "Rio Grande do Sul",
    "RO": "Rondônia",
    "RR": "Roraima",
    "SC": "Santa Catarina",
    "SP": "São Paulo",
    "SE": "Sergipe",
    "TO": "Tocantins",
}
TYPE_PATH: Final = "type"
_UNSEEN: Final = r"\u00ad\u200b-\u200f\u202a-\u202c\u2060\u2066-\u2069\ufeff"
"""Marks without a width that come along with what is copied from chats and contacts. Nobody sees
them to take them out, so they are left out; those that turn a text around are refused."""
PATTERNS: Final[Mapping[Kind, str]] = {
    "postal_code": rf"[\s.\-{_UNSEEN}]*(?:[0-9][\s.\-{_UNSEEN}]*){{8}}",
    "band": (
        rf"[\s{_UNSEEN}]*(?:[Rr][{_UNSEEN}]*\$)?[\s{_UNSEEN}]*"
        rf"(?:[0-9][\s.{_UNSEEN}]*){{1,{MAX_AMOUNT_DIGITS}}}"
        rf"(?:,[{_UNSEEN}]*0[{_UNSEEN}]*0[\s{_UNSEEN}]*)?"
    ),
    "line": r".*\S.*",
    "other": r".*\S.*",
}
"""What a browser without scripts refuses by itself: nothing that `read` takes."""

_UNSEEN_MARK: Final = re.compile(f"[{_UNSEEN}]")
_AMOUNT: Final = re.compile(r"(?:[Rr]\$)? ?(?P<whole>[0-9]+|[0-9]{1,3}(?:[. ][0-9]{3})+)(?:,00)?")
"""As Brazilians write money: points and spaces part thousands, and a comma parts cents. Cents that
are none are left out, and any others refused. `1000.00` is refused, too: who learned to write a
point before cents means a thousand, and who forgot a digit a hundred thousand."""
_TOGETHER: Final = (
    ("postal_code",),
    ("line1", "line2"),
    ("line3",),
    ("city", "state"),
    ("country_code",),
)
"""Of an address, what stands on one screen, in the order in which people know it."""
_KINDS: Final[Mapping[str, Kind]] = {
    "postal_code": "postal_code",
    "state": "state",
    "country_code": "country",
}


class Field(NamedTuple):
    """One input, or two for a band whose ends the seller types."""

    path: str
    kind: Kind
    is_required: bool

    @property
    def name(self) -> str:
        """What it is of a person, whoever that is: `city` of `address.city` and of
        `owner.address.city`."""
        return self.path.removeprefix("owner.").removeprefix("address.")

    @property
    def is_about_owner(self) -> bool:
        """Whether it is about a business's legal representative."""
        return self.path.startswith("owner.")


class Question(NamedTuple):
    """One screen. `slug` names it in the page's address, and holds nothing of the process."""

    slug: str
    fields: tuple[Field, ...]

    @property
    def inputs(self) -> list[tuple[str, Field]]:
        """Its fields, each with the name that the page's form has for it. The two inputs of a band
        go on from that name (`ends_of`)."""
        return [(f"f{number}", each) for number, each in enumerate(self.fields)]

    @property
    def asked(self) -> str:
        """What it asks for. The slug alone is a place, which another question takes once the
        platform asks for something else."""
        return " ".join([self.slug, *(it.path for it in self.fields)])

    @property
    def is_about_owner(self) -> bool:
        """Whether it is about a business's legal representative."""
        return self.fields[0].is_about_owner


@dataclass(slots=True)
class Reading:
    """What was typed on one screen: values by path, or what is wrong with them."""

    values: dict[str, JsonValue] = field(default_factory=dict)
    faults: dict[str, FaultCode] = field(default_factory=dict)


def questions(
    wanted: Wanted,
    *,
    asks_type: bool,
    only: Sequence[str] | None = None,
    has_bands: bool = False,
) -> list[Question]:
    """The screens of a journey, in their order.

    asks_type  the log does not know what kind of seller it is, so the seller says it first
    only       fields to be corrected; None: all that is wanted
    has_bands  the platform's bands are known, and so are choices
    """
    asked = None if only is None else frozenset(only)
    needed = dict.fromkeys(it for it in wanted.needed if asked is None or it in asked)
    optional = [it for it in wanted.optional if asked is None or it in asked]
    left = dict.fromkeys((*needed, *optional))
    found: list[Question] = []
    if asks_type and only is None:
        found.append(Question("type", (Field(TYPE_PATH, "type", True),)))

    def take(slug: str, paths: Sequence[str]) -> None:
        fields = tuple(
            Field(path, kind_of(path, has_bands=has_bands), path in needed)
            for path in paths
            if path in left
        )
        for each in fields:
            del left[each.path]
        if fields:
            found.append(Question(slug, fields))

    for paths in _screens():
        person = f"{OWNER}-" if paths[0].startswith(f"{OWNER}.") else ""
        take(f"{person}{paths[0].rpartition('.')[2].replace('_', '-')}", paths)
    for number, path in enumerate(list(left), 1):
        take(f"other-{number}", [path])
    return found


def _screens() -> Iterator[tuple[str, ...]]:
    """The fields of the body, screen by screen: a seller's own, then those of a business's owner.
    Of an object, fields that `_TOGETHER` does not name come last, each on a screen of its own."""
    known = {name for names in _TOGETHER for name in names}
    for above, shown in (("", BODY), (f"{OWNER}.", OF_OWNERS)):
        for name, inner in shown.items():
            if isinstance(inner, Format):
                yield (f"{above}{name}",)
            elif name != OWNER:
                for names in (*_TOGETHER, *((it,) for it in inner if it not in known)):
                    yield tuple(f"{above}{name}.{it}" for it in names)


def kind_of(path: str, *, has_bands: bool = False) -> Kind:
    """What kind of input a field needs. `has_bands`: as `questions` has it."""
    shown = shown_at(path)
    if not isinstance(shown, Format):
        return "other"
    name = path.rpartition(".")[2]
    if name == "revenue":
        return "bands" if has_bands else "band"
    return _KINDS.get(name, "line")


def is_answered(question: Question, answers: Mapping[str, JsonValue]) -> bool:
    """Whether every field of a screen was answered; one that may be left out was seen, too."""
    return all(it.path in answers for it in question.fields)


def names_of(question: Question) -> list[str]:
    """The names of its inputs in the page's form, in order."""
    names: list[str] = []
    for name, each in question.inputs:
        names += ends_of(name) if each.kind == "band" else [name]
    return names


def ends_of(name: str) -> tuple[str, str]:
    """The names of the two inputs of a band, the lower end first."""
    return f"{name}_from", f"{name}_to"


def typed_of(question: Question, answers: Mapping[str, JsonValue]) -> dict[str, str]:
    """What the inputs hold of answers that the same seller gave in this journey: input -> text."""
    typed: dict[str, str] = {}
    for name, each in question.inputs:
        value = answers.get(each.path)
        if not isinstance(value, str):
            continue
        if each.kind == "band":
            lower, upper = ends_of(name)
            typed[lower], _, typed[upper] = value.partition("_to_")
        elif each.kind == "postal_code":
            typed[name] = f"{value[:5]}-{value[5:]}"
        else:
            typed[name] = value
    return typed


def read(question: Question, typed: Mapping[str, str], bands: Collection[str] | None) -> Reading:
    """The answers on one screen, each in the form in which it may be sent.

    `typed`: input -> text. `bands`: the platform's, where they are known.
    """
    reading = Reading()
    for name, each in question.inputs:
        if each.kind == "band":
            lower, upper = ends_of(name)
            value, fault = _band(typed.get(lower, ""), typed.get(upper, ""))
        else:
            value, fault = _value(each, typed.get(name, ""), bands)
        if fault is not None:
            reading.faults[each.path] = fault
        else:
            reading.values[each.path] = value
    return reading


def _value(
    each: Field, text: str, bands: Collection[str] | None
) -> tuple[JsonValue, FaultCode | None]:
    value = " ".join(unicodedata.normalize("NFC", _UNSEEN_MARK.sub("", text)).split())
    if not value:
        return ("", None) if not each.is_required else (None, "missing")
    if len(value) > MAX_CHARACTERS:
        return None, "long"
    if not value.isprintable():
        return None, "characters"
    match each.kind:
        case "postal_code":
            digits = value.replace("-", "").replace(".", "").replace(" ", "")
            return _accepted(each, digits, "postal_code")
        case "state":
            return (value, None) if value in STATES else (None, "choice")
        case "type":
            return (value, None) if value in TYPES else (None, "choice")
        case "bands":
            return (value, None) if value in (bands or ()) else (None, "choice")
        case "country":
            return _accepted(each, value, "choice")
        case "line":
            return _accepted(each, value, "characters")
        case _:
            return value, None


def _accepted(each: Field, value: str, otherwise: FaultCode) -> tuple[JsonValue, FaultCode | None]:
    """The value, if the contract's own format takes it."""
    shown = shown_at(each.path)
    is_taken = isinstance(shown, Format) and shown.accepts(value)
    return (value, None) if is_taken else (None, otherwise)


def _band(lower: str, upper: str) -> tuple[JsonValue, FaultCode | None]:
    ends = [" ".join(_UNSEEN_MARK.sub("", it).split()) for it in (lower, upper)]
    if not all(it.strip("Rr$ ") for it in ends):
        return None, "missing"
    amounts = [match["whole"] for it in ends if (match := _AMOUNT.fullmatch(it))]
    if len(amounts) < len(ends):
        return None, "amount"
    digits = [it.replace(".", "").replace(" ", "") for it in amounts]
    if max(map(len, digits)) > MAX_AMOUNT_DIGITS:
        return None, "amount"
    least, most = map(int, digits)
    return (f"{least}_to_{most}", None) if least < most else (None, "order")
