-- One row per seller of whose record an event has carried a name, an e-mail address or a tax id, by
-- as_of: what people know the seller by. Lists show it beside the seller's id.
-- reads: seller_events
-- key: seller_id
-- order: seller_id
-- by: seller_id
-- column: seller_id | the platform's id of the seller
-- column: seller_name | first and last name, by the latest event that carries each: personal, masked; null where none does
-- column: email | by the latest event that carries it: personal, masked
-- column: taxpayer_id | by the latest event that carries it: personal, masked

with latest as (
    select
        seller_id,
        arg_max(first_name, struct_pack(created_at, occurred_at, event_id)) as first_name,
        arg_max(last_name, struct_pack(created_at, occurred_at, event_id)) as last_name,
        arg_max(email, struct_pack(created_at, occurred_at, event_id)) as email,
        arg_max(taxpayer_id, struct_pack(created_at, occurred_at, event_id)) as taxpayer_id
    from seller_events
    group by seller_id
)

select
    seller_id,
    nullif(concat_ws(
        ' ',
        personal(first_name, mask_text(first_name)),
        personal(last_name, mask_text(last_name))
    ), '') as seller_name,
    personal(email, mask_text(email)) as email,
    personal(taxpayer_id, mask_number(taxpayer_id)) as taxpayer_id
from latest
where coalesce(first_name, last_name, email, taxpayer_id) is not null
