-- One row: which denied sellers came back as new ones, and how that went (rules.md section 7).
-- Sellers belong together when their taxpayer ids have the same digits.
-- reads: denials, seller_events, review_events, bank_account_events
-- key: denied_sellers
-- column: denied_sellers | sellers with at least one denial
-- column: retryable_share | denials with retry = true / denials that carry a retry; null over nothing
-- column: reonboarded | denied sellers whose taxpayer id belongs to another seller created after their first denial
-- column: reonboarding_rate | reonboarded / denied sellers with a taxpayer id; null over nothing
-- column: cured | reonboarded sellers one of whose successors was ever enabled
-- column: cure_rate | cured / reonboarded; null over nothing
-- column: wasted_retries | reonboarded sellers whose latest denial before the first successor said retry = false

with records as (
    select
        seller_id,
        -- In a struct, so that a taxpayer id without digits replaces one with digits.
        (arg_max(struct_pack(taxpayer_key), struct_pack(created_at, occurred_at, event_id))
            filter (where taxpayer_id is not null)).taxpayer_key as taxpayer_key,
        arg_max(record_created_at, struct_pack(created_at, occurred_at, event_id))
            as record_created_at,
        bool_or(event_type = 'seller.enabled') as was_enabled
    from seller_events
    group by seller_id
),

named as (
    select seller_id, min(created_at) as first_event_at
    from (
        select seller_id, created_at from seller_events
        union all
        select seller_id, created_at from review_events
        union all
        select seller_id, created_at from bank_account_events where seller_id is not null
    )
    group by seller_id
),

sellers as (
    select
        records.seller_id,
        records.taxpayer_key,
        records.was_enabled,
        coalesce(records.record_created_at, named.first_event_at) as created_at
    from records
    join named on named.seller_id = records.seller_id
),

denied as (
    select
        denials.seller_id,
        any_value(sellers.taxpayer_key) as taxpayer_key,
        min(denials.denied_at) as first_denied_at
    from denials
    join sellers on sellers.seller_id = denials.seller_id
    group by denials.seller_id
),

reonboarded as (
    select
        denied.seller_id,
        min(successors.created_at) as first_created_at,
        bool_or(successors.was_enabled) as is_cured
    from denied
    join sellers as successors
        on successors.taxpayer_key = denied.taxpayer_key
        and successors.seller_id <> denied.seller_id
        and successors.created_at > denied.first_denied_at
    group by denied.seller_id
),

last_denials as (
    select
        denials.seller_id,
        arg_max(
            struct_pack(retry := denials.retry),
            struct_pack(
                denied_at := denials.denied_at,
                occurred_at := seller_events.occurred_at,
                event_id := denials.event_id
            )
        ).retry as retry
    from denials
    join seller_events on seller_events.event_id = denials.event_id
    join reonboarded on reonboarded.seller_id = denials.seller_id
    where denials.denied_at < reonboarded.first_created_at
    group by denials.seller_id
),

counts as (
    select
        (select count(*) from denied) as denied_sellers,
        (select count(taxpayer_key) from denied) as with_taxpayer_id,
        (select count(*) filter (where retry) / nullif(count(retry), 0) from denials)
            as retryable_share,
        (select count(*) from reonboarded) as reonboarded,
        (select count(*) filter (where is_cured) from reonboarded) as cured,
        (select count(*) filter (where not retry) from last_denials) as wasted_retries
)

select
    denied_sellers,
    retryable_share,
    reonboarded,
    reonboarded / nullif(with_taxpayer_id, 0) as reonboarding_rate,
    cured,
    cured / nullif(reonboarded, 0) as cure_rate,
    wasted_retries
from counts
