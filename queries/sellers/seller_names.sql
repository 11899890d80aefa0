-- One row per seller of whose record an event has carried a name, an e-mail address or a tax id, by
-- as_of: what people know the seller by. Lists show it beside the seller's id.
-- key: seller_id
-- by: seller_id
-- column: seller_name | personal | first and last name, else a business's, by the latest event that carries each: personal, masked; null where none does
-- column: email | personal | the record's, else a business's own, by the latest event that carries each: personal, masked
-- column: taxpayer_id | personal | the record's, else its ein, else its document number, by the latest event that carries each: personal, masked

with latest as (
    select
        seller_id,
        arg_max(first_name, place) as first_name,
        arg_max(last_name, place) as last_name,
        arg_max(business_name, place) as business_name,
        or_of_business(arg_max(email, place), arg_max(business_email, place)) as email,
        tax_id_of(
            arg_max(taxpayer_id, place),
            arg_max(taxpayer_key, place),
            arg_max(ein, place),
            arg_max(ein_key, place),
            arg_max(document_number, place),
            arg_max(document_key, place)
        ) as taxpayer_id
    from (select *, struct_pack(created_at, occurred_at, event_id) as place from seller_events)
    group by seller_id
)

select
    seller_id,
    shown_name(first_name, last_name, business_name) as seller_name,
    personal(email, mask_text(email)) as email,
    personal(taxpayer_id, mask_number(taxpayer_id)) as taxpayer_id
from latest
where coalesce(first_name, last_name, business_name, email, taxpayer_id) is not null
