"""Says what the platform asks of a process: the fields that a payload has to hold, and may hold."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pipeline.contract.body import JsonValue
from pipeline.contract.fields import BODY, shown_at

IDENTITY: Final = frozenset({"process_id", "type"})
"""Keys that say which review is answered and for what kind of seller: no seller's data."""

TYPES: Final = ("individual", "business")
"""The kinds of seller that the contract knows."""


@dataclass(frozen=True, slots=True)
class Process:
    """A review process as `process_state` shows it."""

    process_id: str
    seller_id: str | None
    review_type: str | None  # ACP, ACI, or None for a type that the contract does not list
    state: str
    opened_at: int | None
    requested_fields: tuple[str, ...]

    @property
    def has_review_event(self) -> bool:
        """Without one, only attempts or collections name the process: nobody knows what it asks."""
        return self.opened_at is not None


@dataclass(frozen=True, slots=True)
class Wanted:
    """The fields that a seller is asked for, as dotted paths in the contract's order."""

    needed: tuple[str, ...]
    optional: tuple[str, ...]  # may be left out


def wanted(
    process: Process | None, seller_type: str | None, required_fields: Mapping[str, Sequence[str]]
) -> Wanted:
    """What a payload for this process has to hold besides `IDENTITY`, and what it may hold more;
    nothing where nobody can know what is asked."""
    demand = demand_of(process, seller_type, required_fields)
    optional = [
        f"{name}.line2"
        for name in ("address", "owner.address")
        if f"{name}.line2" in demand.listed or demand.listed & {name, name.partition(".")[0]}
    ]
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
    return process.review_type != "ACP" and not process.requested_fields


def demand_of(
    process: Process | None,
    seller_type: JsonValue,
    required_fields: Mapping[str, Sequence[str]],
) -> Demand:
    """What the process asks of a seller of this type; nothing, where nobody can know.

    A review type that the contract does not list is answered as an ACI: the rules give it an ACI's
    clock, and to send data that nobody asked for is the graver mistake.
    """
    if process is None or asks_for_nothing(process):
        return Demand(seller_type)
    # What lies below `process_id` or `type` cannot be sent beside them, so it asks for nothing.
    asked = [path for path in process.requested_fields if path.partition(".")[0] not in IDENTITY]
    is_complete = process.review_type == "ACP"
    foreseen = (it for it in BODY if it != "owner" or seller_type == "business")
    full = tuple(foreseen) if is_complete else ()
    needed = dict.fromkeys(
        field for path in (*full, *asked) for field in _stands_for(path, required_fields)
    )
    return Demand(
        seller_type=seller_type,
        asked=_tree(asked),
        needed=tuple(needed),
        listed=frozenset((*full, *asked)),
        is_partial=not is_complete,
        why=(
            "an ACP is complete and holds every path of requested_fields"
            if is_complete
            else "requested_fields ask for it"
        ),
    )


def _stands_for(path: str, required_fields: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """The fields that a requested path needs: those of an object that the contract shows, else the
    path itself; none where its object may go without it."""
    if path in required_fields:
        return required_fields[path]
    around = required_fields.get(path.rpartition(".")[0])
    may_be_left_out = around is not None and path not in around and shown_at(path) is not None
    return () if may_be_left_out else (path,)


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
    return any(path.partition(".")[0] == "owner" for path in process.requested_fields)
