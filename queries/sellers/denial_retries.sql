-- One row: which denied sellers came back as new ones, and how that went (docs/rules.md#denials).
-- Sellers belong together when their taxpayer ids have the same letters and digits.
-- reads: seller_events, seller_records
-- key: denied_sellers
-- order: denied_sellers
-- column: denied_sellers | sellers with at least one denial
-- column: retryable_share | denials with retry = true / denials that carry a retry; null over nothing
-- column: reonboarded | denied sellers whose taxpayer id belongs to another seller created after their first denial
-- column: reonboarding_rate | reonboarded / denied sellers with a taxpayer id; null over nothing
-- column: cured | reonboarded sellers one of whose successors was ever enabled
-- column: cure_rate | cured / reonboarded; null over nothing
-- column: wasted_retries | reonboarded sellers whose latest denial before the first successor said retry = false

with reonboarded as (
    select
        denied.seller_id,
        any_value(denied.denials) as denials,
        any_value(denied.final_denials) as final_denials,
        min(successors.created_at) as first_created_at,
        bool_or(successors.was_enabled) as is_cured
    from seller_records as denied
    join seller_records as successors
        on successors.taxpayer_key = denied.taxpayer_key
        and successors.seller_id <> denied.seller_id
        and successors.created_at > denied.first_denied_at
    group by denied.seller_id
),

denied_both_ways as (
    -- Only of these the denials themselves. Of what one list holds DuckDB expects little, so that it
    -- looks among millions of denials for these, and not among these for each of the denials.
    select unnest(list(struct_pack(seller_id, first_created_at)), recursive := true)
    from reonboarded
    where final_denials between 1 and denials - 1
),

last_answers as (
    select
        seller_id,
        arg_max(coalesce(retry, true), struct_pack(created_at, occurred_at, event_id))
            as might_retry
    from seller_events
    join denied_both_ways using (seller_id)
    where event_type = 'seller.denied' and created_at < first_created_at
    group by seller_id
),

sellers as (
    select
        count(first_denied_at) as denied_sellers,
        count(taxpayer_key) filter (where first_denied_at is not null) as with_taxpayer_id,
        sum(retryable_denials) / nullif(sum(retryable_denials + final_denials), 0)
            as retryable_share
    from seller_records
),

successes as (
    select
        count(*) as reonboarded,
        count(*) filter (where is_cured) as cured,
        count(*) filter (where final_denials = denials)
            + (select count(*) from last_answers where not might_retry) as wasted_retries
    from reonboarded
)

select
    denied_sellers,
    retryable_share,
    reonboarded,
    reonboarded / nullif(with_taxpayer_id, 0) as reonboarding_rate,
    cured,
    cured / nullif(reonboarded, 0) as cure_rate,
    wasted_retries
from sellers, successes
