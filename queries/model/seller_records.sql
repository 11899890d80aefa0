-- One row per seller with a seller event that counts, occurred by as_of: what tells sellers of one
-- taxpayer apart, and what became of them (docs/rules.md#denials). Materialized in `kept_sellers`.
-- key: seller_id
-- column: seller_id | the platform's id of the seller
-- column: taxpayer_key | equal for equal letters and digits of the seller's tax id: its taxpayer id, else ein, else document number, each by the latest event that carries one; null without any
-- column: created_at | when the platform created it, by its record; else its earliest event of any kind
-- column: first_denied_at | the earliest of its denials; null without any
-- column: first_enabled_at | the earliest event that enabled it, whatever followed; null without any
-- column: denials | times the seller was denied
-- column: retryable_denials | those with retry = true
-- column: final_denials | those with retry = false
-- column: seller_type | individual or business, by the latest event that says it; null where none does
-- column: deleted_at | when the platform created its first `seller.deleted`; null unless deleted
-- column: deletion_seq | the entry of that event

with known as (
    select
        seller_id,
        -- The key of an id without letters and digits is empty: it is a value too. By the key alone,
        -- since that stays where the id is erased.
        arg_max(taxpayer_key, struct_pack(created_at, occurred_at, event_id))
            filter (where taxpayer_key is not null) as taxpayer_key,
        arg_max(ein_key, struct_pack(created_at, occurred_at, event_id))
            filter (where ein_key is not null) as ein_key,
        arg_max(document_key, struct_pack(created_at, occurred_at, event_id))
            filter (where document_key is not null) as document_key,
        arg_max(record_created_at, struct_pack(created_at, occurred_at, event_id))
            as record_created_at,
        min(created_at) as first_event_at,
        min(created_at) filter (where event_type = 'seller.denied') as first_denied_at,
        min(created_at) filter (where event_type = 'seller.enabled') as first_enabled_at,
        count(*) filter (where event_type = 'seller.denied') as denials,
        count(*) filter (where event_type = 'seller.denied' and retry) as retryable_denials,
        count(*) filter (where event_type = 'seller.denied' and not retry) as final_denials,
        arg_max(type, struct_pack(created_at, occurred_at, event_id)) as seller_type,
        min(created_at) filter (where event_type = 'seller.deleted') as deleted_at,
        arg_min(seq, struct_pack(created_at, occurred_at, event_id))
            filter (where event_type = 'seller.deleted') as deletion_seq
    from seller_events
    group by seller_id
),

reviewed as (
    select seller_id, min(created_at) as first_event_at
    from review_events
    group by seller_id
),

banked as (
    select seller_id, min(created_at) as first_event_at
    from bank_account_events
    group by seller_id
)

select
    known.seller_id,
    tax_key_of(known.taxpayer_key, known.ein_key, known.document_key) as taxpayer_key,
    coalesce(
        known.record_created_at,
        least(known.first_event_at, reviewed.first_event_at, banked.first_event_at)
    ) as created_at,
    known.first_denied_at,
    known.first_enabled_at,
    known.denials,
    known.retryable_denials,
    known.final_denials,
    known.seller_type,
    known.deleted_at,
    known.deletion_seq
from known
left join reviewed on reviewed.seller_id = known.seller_id
left join banked on banked.seller_id = known.seller_id
