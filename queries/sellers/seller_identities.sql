-- One row per seller event that carries a name, an e-mail address or a tax id: by what a seller can
-- be found, whichever of their records said it.
-- key: event_id
-- order: seller_id, event_id
-- by: seller_id
-- column: seller_name | personal | first and last name, else a business's: personal, masked
-- column: email | personal | the record's, else a business's own: personal, masked
-- column: taxpayer_key | personal | keyed digest of the tax id's letters and digits, hex: personal, left out while masked

select
    event_id,
    seller_id,
    shown_name(first_name, last_name, business_name) as seller_name,
    personal(
        or_of_business(email, business_email), mask_text(or_of_business(email, business_email))
    ) as email,
    personal(lower(hex(tax_key_of(taxpayer_key, ein_key, document_key))), null) as taxpayer_key
from seller_events
where coalesce(
    first_name, last_name, business_name, email, business_email, taxpayer_id, ein, document_number
) is not null
