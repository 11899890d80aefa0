"""Makes the entries of a journey: the same collections that a marketplace's own journey reports.

Each is the draft of a `collection` (docs/rules.md#collection-evidence). What it names is in the
artifact store before it is recorded.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from pipeline import instants
from pipeline.contract.body import JsonValue
from pipeline.log.artifacts import described
from pipeline.log.entries import OWN_JOURNEY, Draft
from pipeline.log.ndjson import read_collection

if TYPE_CHECKING:
    from pipeline.inbox.artifacts.owners import Owned
    from pipeline.journey.links import Journey

RECORDED_BY: Final = "journey"
SELLER: Final = "seller"
MARKETPLACE: Final = "marketplace"
CHANNEL: Final = "web_form"

Step = Literal["invited", "opened", "answered", "confirmed"]
Artifact = Mapping[str, JsonValue]
_NOTHING: Final[Mapping[str, JsonValue]] = MappingProxyType({})


class Shown(NamedTuple):
    """What a seller saw: in which language and wording."""

    language: str
    wording: str


def invited(journey: "Journey", recorded_by: str, made_by: str | None) -> Draft:
    """The draft that says: a link was made, and goes to the seller by a channel. `made_by`: the
    person who made it, where it was one."""
    return _collection(
        journey,
        "invited",
        journey.minted_at,
        recorded_by,
        {
            "channel": journey.channel,
            "source": MARKETPLACE,
            "expires_at": instants.canonical(journey.expires_at),
            **({} if made_by is None else {"made_by": made_by}),
        },
    )


def seen(
    journey: "Journey",
    step: Step,
    at: int,
    shown: Shown,
    *,
    screen: str,
    artifacts: Sequence[Artifact],
    fields: Mapping[str, JsonValue] = _NOTHING,
    more: Mapping[str, JsonValue] = _NOTHING,
) -> Draft:
    """The draft of what a seller did on a screen.

    `fields`: path -> value. `more`: what else is known of it, such as the declaration.
    """
    said: dict[str, JsonValue] = {
        "channel": CHANNEL,
        "source": SELLER,
        "screen": screen,
        **in_words(shown),
        "artifacts": list(artifacts),
        **more,
    }
    if step == "answered":
        said["fields"] = dict(fields)
    return _collection(journey, step, at, RECORDED_BY, said)


def in_words(shown: Shown) -> Mapping[str, JsonValue]:
    """What an entry says of how a screen was worded."""
    return {"language": shown.language, "wording": shown.wording}


def added(
    journey: "Journey",
    at: int,
    screen: str,
    artifacts: Sequence[Artifact],
    more: Mapping[str, JsonValue] = _NOTHING,
) -> Draft:
    """The draft that adds something to a journey that was confirmed: pictures, the receipt, or the
    code that opened it. No seller made it."""
    return _collection(
        journey,
        "confirmed",
        at,
        RECORDED_BY,
        {
            "channel": CHANNEL,
            "source": MARKETPLACE,
            "screen": screen,
            "artifacts": list(artifacts),
            **more,
        },
    )


def kept(store: "Owned", name: str, media_type: str, content: bytes) -> Artifact:
    """An artifact as entries name it, once its bytes are durable."""
    return described({"name": name, "media_type": media_type}, content, store)


def _collection(
    journey: "Journey", step: Step, at: int, recorded_by: str, said: Mapping[str, JsonValue]
) -> Draft:
    occurrence = {
        "occurred_at": instants.canonical(at),
        "process_id": journey.process_id,
        "seller_id": journey.seller_id,
        "journey_id": journey.journey_id,
        "step": step,
        "producer": OWN_JOURNEY,
        **said,
    }
    return read_collection(occurrence, recorded_by=recorded_by, keep=lambda artifact: artifact)
