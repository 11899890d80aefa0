"""The platform's path of a review, and the ids in it: one percent-encoded segment each. Pure."""

from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes


class Address(NamedTuple):
    """Whom a request's path names."""

    marketplace_id: str
    seller_id: str


def path_of(address: Address) -> str:
    """The contract's path; ValueError for an id that is no segment."""
    marketplace, seller = map(_segment, address)
    return f"/v1/marketplaces/{marketplace}/sellers/{seller}/registration/review"


def address_in(raw_path: bytes) -> Address | None:
    """The ids in such a path, or None for any other path.

    Read from the path as it was sent: an encoded slash belongs to an id.
    """
    match raw_path.partition(b"?")[0].split(b"/"):
        case [b"", b"v1", b"marketplaces", marketplace, b"sellers", seller, *rest] if rest == [
            b"registration",
            b"review",
        ]:
            try:
                return Address(
                    unquote_to_bytes(marketplace).decode(), unquote_to_bytes(seller).decode()
                )
            except UnicodeDecodeError:
                return None
    return None


def is_segment(identifier: str) -> bool:
    """Whether an id can stand as one segment of a path; `.` and `..` would be steps in it."""
    return identifier not in ("", ".", "..")


def _segment(identifier: str) -> str:
    if not is_segment(identifier):
        raise ValueError(f"{identifier!r} is no segment of a path")
    return quote(identifier, safe="")
