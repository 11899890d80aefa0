-- One row per seller with a seller event that counts, occurred by as_of: what tells sellers of one
-- taxpayer apart, and what became of them (rules.md section 7). A ledger keeps it, in `kept.sellers`.
-- reads: seller_events, review_events, bank_account_events
-- key: seller_id
-- column: seller_id | the seller
-- column: taxpayer_key | equal for equal digits of the taxpayer id, by the latest event that carries one; null without digits
-- column: created_at | when the platform created it, by its record; else its earliest event of any kind
-- column: first_denied_at | the earliest of its denials; null without any
-- column: was_enabled | some event enabled it, whatever followed
-- column: denials | times it was denied
-- column: retryable_denials | those with retry = true
-- column: final_denials | those with retry = false

with told as (
    select
        seller_id,
        -- An id without digits is a value too.
        arg_max(coalesce(taxpayer_key, ''::blob), struct_pack(created_at, occurred_at, event_id))
            filter (where taxpayer_id is not null) as taxpayer_key,
        arg_max(record_created_at, struct_pack(created_at, occurred_at, event_id))
            as record_created_at,
        min(created_at) as first_event_at,
        min(created_at) filter (where event_type = 'seller.denied') as first_denied_at,
        bool_or(event_type = 'seller.enabled') as was_enabled,
        count(*) filter (where event_type = 'seller.denied') as denials,
        count(*) filter (where event_type = 'seller.denied' and retry) as retryable_denials,
        count(*) filter (where event_type = 'seller.denied' and not retry) as final_denials
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
    told.seller_id,
    nullif(told.taxpayer_key, ''::blob) as taxpayer_key,
    coalesce(
        told.record_created_at,
        least(told.first_event_at, reviewed.first_event_at, banked.first_event_at)
    ) as created_at,
    told.first_denied_at,
    told.was_enabled,
    told.denials,
    told.retryable_denials,
    told.final_denials
from told
left join reviewed on reviewed.seller_id = told.seller_id
left join banked on banked.seller_id = told.seller_id
