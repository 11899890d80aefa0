-- One row: which denied sellers came back as new ones, and how that went (rules.md section 7).
-- Sellers belong together when their taxpayer ids have the same digits.
-- reads: seller_events, review_events, bank_account_events
-- key: denied_sellers
-- column: denied_sellers | sellers with at least one denial
-- column: retryable_share | denials with retry = true / denials that carry a retry; null over nothing
-- column: reonboarded | denied sellers whose taxpayer id belongs to another seller created after their first denial
-- column: reonboarding_rate | reonboarded / denied sellers with a taxpayer id; null over nothing
-- column: cured | reonboarded sellers one of whose successors was ever enabled
-- column: cure_rate | cured / reonboarded; null over nothing
-- column: wasted_retries | reonboarded sellers whose latest denial before the first successor said retry = false

with told as (
    -- Nearly every seller's events tell one taxpayer id and one instant of creation. Only of the others
    -- need the latest be found, which takes several times as long. An id without digits is a value too.
    select
        seller_id,
        min(coalesce(taxpayer_key, ''::blob)) filter (where taxpayer_id is not null) as least_key,
        max(coalesce(taxpayer_key, ''::blob)) filter (where taxpayer_id is not null) as last_key,
        min(record_created_at) as first_created_at,
        max(record_created_at) as last_created_at,
        min(created_at) as first_event_at,
        min(created_at) filter (where event_type = 'seller.denied') as first_denied_at,
        bool_or(event_type = 'seller.enabled') as was_enabled
    from seller_events
    group by seller_id
),

contested as (
    select
        seller_id,
        arg_max(coalesce(taxpayer_key, ''::blob), struct_pack(created_at, occurred_at, event_id))
            filter (where taxpayer_id is not null) as taxpayer_key,
        arg_max(record_created_at, struct_pack(created_at, occurred_at, event_id))
            as record_created_at
    from seller_events
    where seller_id in (
        select seller_id from told
        where least_key <> last_key or first_created_at <> last_created_at
    )
    group by seller_id
),

records as (
    select
        told.seller_id,
        nullif(coalesce(contested.taxpayer_key, told.last_key), ''::blob) as taxpayer_key,
        coalesce(contested.record_created_at, told.last_created_at) as record_created_at,
        told.first_event_at,
        told.first_denied_at,
        told.was_enabled
    from told
    left join contested on contested.seller_id = told.seller_id
),

elsewhere as (
    -- When a seller whose record says nothing of its creation was first named, but for its own events.
    select seller_id, min(created_at) as first_named_at
    from (
        select seller_id, created_at from review_events
        union all
        select seller_id, created_at from bank_account_events
    )
    where seller_id in (
        select seller_id from records
        where record_created_at is null and taxpayer_key is not null
    )
    group by seller_id
),

sellers as (
    select
        records.seller_id,
        records.taxpayer_key,
        records.was_enabled,
        coalesce(
            records.record_created_at, least(records.first_event_at, elsewhere.first_named_at)
        ) as created_at
    from records
    left join elsewhere on elsewhere.seller_id = records.seller_id
    where records.taxpayer_key is not null
),

reonboarded as (
    select
        denied.seller_id,
        min(successors.created_at) as first_created_at,
        bool_or(successors.was_enabled) as is_cured
    from records as denied
    join sellers as successors
        on successors.taxpayer_key = denied.taxpayer_key
        and successors.seller_id <> denied.seller_id
        and successors.created_at > denied.first_denied_at
    group by denied.seller_id
),

denials as (
    select seller_id, created_at, occurred_at, event_id, retry
    from seller_events
    where event_type = 'seller.denied'
),

earlier as (
    select denials.*
    from denials
    join reonboarded on reonboarded.seller_id = denials.seller_id
    where denials.created_at < reonboarded.first_created_at
),

answers as (
    select
        seller_id,
        count(*) as denials,
        count(*) filter (where not retry) as final_ones
    from earlier
    group by seller_id
),

last_answers as (
    -- Again only where the denials of a seller do not agree.
    select
        seller_id,
        arg_max(
            coalesce(retry, true), struct_pack(created_at, occurred_at, event_id)
        ) as might_retry
    from earlier
    where seller_id in (
        select seller_id from answers where final_ones between 1 and denials - 1
    )
    group by seller_id
),

counts as (
    select
        (select count(first_denied_at) from records) as denied_sellers,
        (select count(taxpayer_key) from records where first_denied_at is not null)
            as with_taxpayer_id,
        (select count(*) filter (where retry) / nullif(count(retry), 0) from denials)
            as retryable_share,
        (select count(*) from reonboarded) as reonboarded,
        (select count(*) filter (where is_cured) from reonboarded) as cured,
        (select count(*) from answers where final_ones = denials)
            + (select count(*) from last_answers where not might_retry) as wasted_retries
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
