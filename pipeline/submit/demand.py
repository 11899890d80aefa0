"""Says what the platform asks of a process: the fields that a payload has to hold, and may hold."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from pipeline.contract import review_types
from pipeline.contract.body import JsonValue
from pipeline.contract.fields import BODY, IDENTITY, OPTIONAL, OWNER, REQUIRED

TYPES: Final = ("individual", "business")
"""The kinds of seller that the contract knows."""


@dataclass(frozen=True, slots=True)
class Process:
    """A review process as `process_state` shows it."""

    process_id: str
    seller_id: str | None
    review_type: str | None  # None for a type that the contract does not list
    state: str
    opened_at: int | None
    requested_fields: tuple[str, ...]
    deadline_at: int | None = None
    confirmed_at: int | None = None
    """When the seller last confirmed what they answered."""

    @property
    def is_partial(self) -> bool:
        """Whether it takes the requested fields alone."""
        return review_types.named(self.review_type).is_partial

    @property
    def has_review_event(self) -> bool:
        """Without one, only attempts or collections name the process: nobody knows what it asks."""
        return self.opened_at is not None


@dataclass(frozen=True, slots=True)
class Wanted:
    """The fields that a seller is asked for, as dotted paths in the contract's order."""

    needed: tuple[str, ...]
    optional: tuple[str, ...]  # may be left out


def wanted(process: Process | None, seller_type: str | None) -> Wanted:
    """What a payload for this process has to hold besides `IDENTITY`, and what it may hold more;
    nothing where nobody can know what is asked."""
    demand = demand_of(process, seller_type)
    optional = (it for it in OPTIONAL if not demand.listed.isdisjoint({it, *_above(it)}))
    return Wanted(demand.needed, tuple(optional))


@dataclass(slots=True)
class Asked:
    """The requested paths as a tree of keys: is this path listed, and what is asked below it."""

    is_listed: bool = False
    below: dict[str, "Asked"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Demand:
    """What a payload has to hold, and whether it may hold anything besides."""

    seller_type: JsonValue
    asked: Asked = field(default_factory=Asked)
    needed: tuple[str, ...] = ()  # field paths, the contract's first
    listed: frozenset[str] = frozenset()  # paths that are asked for, as they are asked for
    is_partial: bool = False  # only what is asked may be sent
    why: str = ""  # each of `needed` is needed


def asks_for_nothing(process: Process) -> bool:
    """Whether nothing may be sent: only what is requested may be, and nothing is."""
    return process.is_partial and not process.requested_fields


def demand_of(process: Process | None, seller_type: JsonValue) -> Demand:
    """What the process asks of a seller of this type; nothing, where nobody can know."""
    if process is None or asks_for_nothing(process):
        return Demand(seller_type)
    # What lies below `process_id` or `type` cannot be sent beside them, so it asks for nothing.
    asked = [path for path in process.requested_fields if path.partition(".")[0] not in IDENTITY]
    foreseen = (it for it in BODY if it != OWNER or seller_type == "business")
    full = () if process.is_partial else tuple(foreseen)
    needed = dict.fromkeys(field for path in (*full, *asked) for field in _stands_for(path))
    return Demand(
        seller_type=seller_type,
        asked=_tree(asked),
        needed=tuple(needed),
        listed=frozenset((*full, *asked)),
        is_partial=process.is_partial,
        why=(
            "requested_fields ask for it"
            if process.is_partial
            else f"an {process.review_type} is complete and holds every path of requested_fields"
        ),
    )


def _stands_for(path: str) -> Sequence[str]:
    """The fields that a requested path needs: those of an object that the contract shows, else the
    path itself; none where it may be left out."""
    return REQUIRED.get(path, () if path in OPTIONAL else (path,))


def _above(path: str) -> Iterator[str]:
    """The paths of the objects around a field."""
    while path := path.rpartition(".")[0]:
        yield path


def _tree(paths: Iterable[str]) -> Asked:
    root = Asked()
    for path in paths:
        node = root
        for key in path.split("."):
            node = node.below.setdefault(key, Asked())
        node.is_listed = True
    return root


def known_type(process: Process | None, recorded: str | None) -> str | None:
    """The kind of seller that the log knows: only a business is asked for its owner's data.
    `recorded`: of the seller's latest record."""
    if process is not None and asks_for_owner(process):
        return "business"
    return recorded if recorded in TYPES else None


def asks_for_owner(process: Process) -> bool:
    """Whether a requested path names a business's owner."""
    return any(path.partition(".")[0] == OWNER for path in process.requested_fields)
