"""The fields of the seller's record that the contract shows, or that records of businesses carry
beside (docs/contract.md#seller-record). No I/O."""

from typing import Final, Literal, NamedTuple


class RecordField(NamedTuple):
    """A field of the record, but for its id, and for a denial's reasons and retry."""

    name: str
    kind: Literal["code", "text", "anything", "number", "flag", "instant", "tax id"]
    mask: Literal["text", "number", "all"] | None = None
    """What hides it, where it says something of a person: one of the macros `mask_...`."""
    column: str = ""
    """Of the facts, where that has another name."""


FIELDS: Final = (
    RecordField("status", "code"),
    RecordField("resource", "text"),
    RecordField("account_balance", "number"),
    RecordField("current_balance", "number"),
    RecordField("first_name", "text", "text"),
    RecordField("last_name", "text", "text"),
    RecordField("email", "text", "text"),
    RecordField("taxpayer_id", "tax id", "number"),
    RecordField("phone_number", "text", "number"),
    RecordField("birthdate", "text", "all"),
    RecordField("address", "anything", "all"),
    RecordField("mcc", "text"),
    RecordField("show_profile_online", "flag"),
    RecordField("is_mobile", "flag"),
    RecordField("decline_on_fail_security_code", "flag"),
    RecordField("decline_on_fail_zipcode", "flag"),
    RecordField("delinquent", "flag"),
    RecordField("marketplace_id", "text"),
    RecordField("uri", "text"),
    RecordField("metadata", "anything", "all"),
    RecordField("created_at", "instant", column="record_created_at"),
    RecordField("updated_at", "instant", column="record_updated_at"),
    RecordField("revenue", "number"),
    RecordField("type", "code"),
    RecordField("document_number", "text", "number"),
    RecordField("ein", "tax id", "number"),
    RecordField("business_name", "text", "text"),
    RecordField("business_email", "text", "text"),
    RecordField("business_phone", "text", "number"),
    RecordField("business_address", "anything", "all"),
    RecordField("owner", "anything", "all", column="business_owner"),
)

MASKS: Final = {
    column: f"mask_{each.mask}({column})"
    for each in FIELDS
    if each.mask is not None and (column := each.column or each.name)
}
"""Column of the facts -> SQL that hides what it says of a person."""
