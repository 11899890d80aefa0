"""Names the fields of a submission body, as sellers, pages, messages and reports read them."""

from collections.abc import Mapping
from typing import Final

from pipeline.language.catalogue import N_, NC_, Language, said_in

LABELS: Final[Mapping[str, str]] = {
    "type": N_("Kind of registration"),
    "revenue": N_("Revenue"),
    "owner.revenue": N_("Income"),
    "address": N_("Address"),
    "address.postal_code": N_("Postal code"),
    "address.line1": N_("Street and number"),
    "address.line2": N_("Flat, floor or block"),
    "address.line3": N_("Neighbourhood"),
    "address.city": N_("City"),
    "address.state": NC_("an address", "State"),
    "address.country_code": N_("Country"),
}
"""By path; of a legal representative only what is called otherwise than a seller's own."""
_OWNER: Final = "owner."
_OWNER_ADDRESS: Final = "owner.address"
OF_OWNER: Final = N_("{field} (legal representative)")


def label(path: str, into: Language) -> str:
    """A field where what is around it says whose it is; a path that the contract does not show
    stands for itself."""
    of_both = path.removeprefix(_OWNER) if path.startswith(_OWNER_ADDRESS) else path
    text = LABELS.get(of_both)
    return path if text is None else said_in(into, text)


def name(path: str, into: Language) -> str:
    """A field where nothing around it says whose it is: a city of the business, or of its legal
    representative."""
    own = label(path, into)
    is_of_owner = path.startswith(_OWNER) and own != path
    return said_in(into, OF_OWNER, field=own) if is_of_owner else own


def listed_in(text: str) -> list[str]:
    """The paths that a finding's detail lists, where each has a name and nothing else stands in
    it."""
    paths = text.split(", ")
    return [] if any(name(it, "en") == it for it in paths) else paths
