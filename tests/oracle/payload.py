"""What a payload had to hold (rules.md section 4): paths asked for, paths sent."""

from .model import Attempt
from .reading import Unreadable, flattened, read_json

FULL_ADDRESS = ("line1", "line3", "city", "state", "postal_code", "country_code")
ADDRESS = tuple(f"address.{leaf}" for leaf in FULL_ADDRESS)
OWNER_ADDRESS = tuple(f"owner.address.{leaf}" for leaf in FULL_ADDRESS)
LEAVES_UNDER = {
    "address": ADDRESS,
    "owner.address": OWNER_ADDRESS,
    "owner": ("owner.revenue", *OWNER_ADDRESS),
}
ALWAYS_OPTIONAL = ("address.line2", "owner.address.line2")
SHOWN_PATHS = (
    "process_id",
    "type",
    "revenue",
    "owner.revenue",
    *LEAVES_UNDER,
    *ADDRESS,
    *OWNER_ADDRESS,
    *ALWAYS_OPTIONAL,
)
NOT_COLLECTED = ("process_id", "type")


def payload_of(attempt: Attempt) -> dict | None:
    """The body as an object; None where the bytes are lost or no readable object."""
    if attempt.body is None:
        return None
    try:
        body = read_json(attempt.body)
    except Unreadable:
        return None
    return body if isinstance(body, dict) else None


def sent_leaves(attempt: Attempt) -> dict[str, object]:
    """Every leaf sent except process_id and type."""
    leaves = flattened(payload_of(attempt) or {})
    return {path: value for path, value in leaves.items() if path not in NOT_COLLECTED}


def covers(listed: str, path: str) -> bool:
    """A listed path covers itself and what is under it."""
    return path == listed or path.startswith(f"{listed}.")


def leaves_asked_for(listed: str) -> tuple[str, ...]:
    """`address` asks for a full address; a path that the contract does not show, for itself."""
    return LEAVES_UNDER.get(listed, (listed,))


def missing_from_acp(payload: dict, requested: list[str]) -> list[str]:
    """What an ACP payload lacks: the fields foreseen for its type, and every path requested."""
    leaves = flattened(payload)
    wanted = ["process_id", "type", "revenue", *ADDRESS]
    if payload.get("type") == "business":
        wanted += LEAVES_UNDER["owner"]
    for listed in requested:
        wanted += leaves_asked_for(listed)
    return sorted({path for path in wanted if not is_sent(path, leaves)})


def is_sent(path: str, leaves: dict[str, object]) -> bool:
    if path in ALWAYS_OPTIONAL:
        return True
    if path in SHOWN_PATHS:
        return leaves.get(path) is not None
    return any(covers(path, leaf) for leaf in leaves)


def extra_in_aci(attempt: Attempt, requested: list[str]) -> list[str]:
    """Leaves sent that no requested path covers."""
    return sorted(
        path
        for path in sent_leaves(attempt)
        if not any(covers(listed, path) for listed in requested)
    )
