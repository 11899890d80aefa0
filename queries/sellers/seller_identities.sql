-- One row per seller event that carries a name, an e-mail address or a tax id: by what a seller can
-- be found, whichever of their records said it.
-- reads: seller_events
-- key: event_id
-- order: seller_id
-- order: event_id
-- by: seller_id
-- column: event_id | the platform's id of the event
-- column: seller_id | the platform's id of the seller
-- column: seller_name | first and last name: personal, masked
-- column: email | personal, masked
-- column: taxpayer_key | keyed digest of the tax id's letters and digits, hex: personal, left out while masked

select
    event_id,
    seller_id,
    nullif(concat_ws(
        ' ',
        personal(first_name, mask_text(first_name)),
        personal(last_name, mask_text(last_name))
    ), '') as seller_name,
    personal(email, mask_text(email)) as email,
    personal(nullif(lower(hex(taxpayer_key)), ''), null) as taxpayer_key
from seller_events
where coalesce(first_name, last_name, email, taxpayer_id) is not null
