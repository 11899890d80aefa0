"""Says which acts need a second person, and what exactly is asked of each. Pure."""

import hashlib
import hmac
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from pipeline import instants
from pipeline.contract.body import JsonValue, canonical_json
from pipeline.errors import CallerError
from pipeline.ledger.arrow import MASKED_COLUMNS
from pipeline.ledger.views import catalogue
from pipeline.ledger.views.formats import plain
from pipeline.names import folded
from pipeline.settings import FourEyes, Settings

OVERRIDE: Final[FourEyes] = "override"
UNMASK: Final[FourEyes] = "unmask"
EXPORT: Final[FourEyes] = "export"
FORGET: Final[FourEyes] = "forget"

ONE_SUBJECT: Final = ("process_id", "seller_id", "attempt_id")
"""A filter by one id in one of these columns asks about one subject; any other about many."""
HIDDEN: Final = "…"


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
        it: without the log's key, trying all tax ids would tell a filter. Raises
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
