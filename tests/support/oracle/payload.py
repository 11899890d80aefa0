"""What a payload had to hold (docs/rules.md#what-may-be-sent): paths asked for, paths sent."""

from .model import Attempt
from .reading import Unreadable, flattened, read_json

FULL_ADDRESS = ("line1", "line3", "city", "state", "postal_code", "country_code")
ADDRESS = tuple(f"address.{field}" for field in FULL_ADDRESS)
OWNER_ADDRESS = tuple(f"owner.address.{field}" for field in FULL_ADDRESS)
FIELDS_UNDER = {
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
    *FIELDS_UNDER,
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


def sent_fields(attempt: Attempt) -> dict[str, object]:
    """Every field sent except process_id and type."""
    fields = flattened(payload_of(attempt) or {})
    return {path: value for path, value in fields.items() if path not in NOT_COLLECTED}


def covers(listed: str, path: str) -> bool:
    """A listed path covers itself and what is under it."""
    return path == listed or path.startswith(f"{listed}.")


def fields_asked_for(listed: str) -> tuple[str, ...]:
    """`address` asks for a full address; a path that the contract does not show, for itself."""
    return FIELDS_UNDER.get(listed, (listed,))


def missing_from_whole(
    attempt: Attempt, requested: list[str], *, came_by_gateway: bool
) -> list[str]:
    """What a payload lacks of the fields foreseen for the seller's type, and of what is requested.

    A gateway's call goes out as it came, and may leave out the `process_id`; so may who repeats it.
    """
    payload = payload_of(attempt) or {}
    fields = flattened(payload)
    wanted = ["process_id", "type", "revenue", *ADDRESS]
    if payload.get("type") == "business":
        wanted += FIELDS_UNDER["owner"]
    for listed in requested:
        # Nothing can be sent below an identity.
        if not any(covers(it, listed) and it != listed for it in NOT_COLLECTED):
            wanted += fields_asked_for(listed)
    if came_by_gateway:
        wanted = [path for path in wanted if path != "process_id"]
    return sorted({path for path in wanted if not is_sent(path, fields)})


def is_sent(path: str, fields: dict[str, object]) -> bool:
    if path in ALWAYS_OPTIONAL:
        return True
    if path in SHOWN_PATHS:
        return fields.get(path) is not None
    return any(covers(path, field) for field in fields)


def extra_in_partial(attempt: Attempt, requested: list[str]) -> list[str]:
    """Fields sent that no requested path covers."""
    return sorted(
        path
        for path in sent_fields(attempt)
        if not any(covers(listed, path) for listed in requested)
    )
