"""The fields of the seller's record that the contract shows, or that records of businesses carry
beside (docs/contract.md#seller-record). No I/O."""

from typing import Final, Literal, NamedTuple


class RecordField(NamedTuple):
    """A field of the record, but for its id, and for a denial's reasons and retry."""

    name: str
    kind: Literal["code", "text", "name", "anything", "number", "flag", "instant", "tax id"]
    mask: Literal["text", "number", "all"] | None
    """What hides it, where it says something of a person: a macro `mask_...`. Each row says
    it, so that no new field is shown by oversight."""
    other_column: str = ""
    """Of the facts, where that has another name."""
    is_erased: bool = False
    """Whether it goes with a person who is forgotten, though no mask hides it."""

    @property
    def column(self) -> str:
        """Of the facts."""
        return self.other_column or self.name


FIELDS: Final = (
    RecordField("status", "code", None),
    RecordField("resource", "text", None),
    RecordField("account_balance", "number", None, is_erased=True),
    RecordField("current_balance", "number", None, is_erased=True),
    RecordField("first_name", "name", "text"),
    RecordField("last_name", "name", "text"),
    RecordField("email", "text", "text"),
    RecordField("taxpayer_id", "tax id", "number"),
    RecordField("phone_number", "text", "number"),
    RecordField("birthdate", "text", "all"),
    RecordField("address", "anything", "all"),
    RecordField("mcc", "text", None),
    RecordField("show_profile_online", "flag", None),
    RecordField("is_mobile", "flag", None),
    RecordField("decline_on_fail_security_code", "flag", None),
    RecordField("decline_on_fail_zipcode", "flag", None),
    RecordField("delinquent", "flag", None),
    RecordField("marketplace_id", "text", None),
    RecordField("uri", "text", None, is_erased=True),
    RecordField("metadata", "anything", "all"),
    RecordField("created_at", "instant", None, other_column="record_created_at"),
    RecordField("updated_at", "instant", None, other_column="record_updated_at"),
    RecordField("revenue", "number", None, is_erased=True),
    RecordField("type", "code", None),
    RecordField("document_number", "text", "number"),
    RecordField("ein", "tax id", "number"),
    RecordField("business_name", "name", "text"),
    RecordField("business_email", "text", "text"),
    RecordField("business_phone", "text", "number"),
    RecordField("business_address", "anything", "all"),
    RecordField("owner", "anything", "all", other_column="business_owner"),
)

MASKS: Final = {
    each.column: f"mask_{each.mask}({each.column})" for each in FIELDS if each.mask is not None
}
"""Column of the facts -> SQL that hides what it says of a person."""
