"""Builds and parses the platform's path of a review. Each id is one percent-encoded segment."""

from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes


class Address(NamedTuple):
    """The marketplace and the seller that a request's path names."""

    marketplace_id: str
    seller_id: str


def path_of(address: Address) -> str:
    """The contract's path for an address; ValueError for an id that cannot be a segment."""
    marketplace, seller = map(_segment, address)
    return f"/v1/marketplaces/{marketplace}/sellers/{seller}/registration/review"


def address_in(raw_path: bytes) -> Address | None:
    """The ids in such a path, or None for any other path.

    `raw_path`: the path as it was sent, still encoded, since an encoded slash belongs to an id.
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
    """Whether an id can be one segment of a path; `.` and `..` would be steps between folders."""
    return identifier not in ("", ".", "..")


def _segment(identifier: str) -> str:
    if not is_segment(identifier):
        raise ValueError(f"{identifier!r} cannot be a segment of a path")
    return quote(identifier, safe="")
