-- One row per month, reason and detail of denials: how many, and what became of their sellers in the 60 days
-- after the first such denial of each in that month (docs/rules.md#over-time).
-- open to: analysts
-- key: month, reason, detail
-- order: month, reason, detail nulls first
-- column: month | UTC month of the denial, its first day
-- column: reason | text | category of the denial
-- column: detail | text | the specific detail; null where there is none
-- column: denials | denials that carry the pair
-- column: retryable | those with retry = true
-- column: sellers | sellers denied so
-- column: followed | those with a tax id whose 60 days are over
-- column: reonboarded | those of them that came back as new sellers in these 60 days
-- column: cured | those of these one of whose new sellers was enabled in them
-- column: median_seconds_to_cure | from the denial to the first time that one was: the median by nearest rank; null over nothing
-- column: reonboarding_rate | reonboarded / followed; null over nothing
-- column: cure_rate | cured / reonboarded; null over nothing

with pairs as (
    select
        cast(date_trunc('month', created_at) as date) as month,
        unnest(reason_pairs(reasons)) as pair,
        seller_id,
        created_at,
        retry
    from seller_events
    where event_type = 'seller.denied'
),

denied as (
    select
        month,
        pair.reason as reason,
        pair.detail as detail,
        seller_id,
        min(created_at) as denied_at,
        count(*) as denials,
        count(*) filter (where retry) as retryable
    from pairs
    group by all
),

-- What becomes of a seller from an instant on has nothing to do with the reason.
followed as (
    select distinct
        denied.seller_id,
        denied_at,
        denied_at + interval 60 day as until_at,
        taxpayer_key
    from denied
    join seller_records as records on records.seller_id = denied.seller_id
    where taxpayer_key is not null and denied_at + interval 60 day <= as_of()
),

successors as (
    select followed.seller_id, denied_at, until_at, records.seller_id as successor_id
    from followed
    join seller_records as records
        on records.taxpayer_key = followed.taxpayer_key
        and records.seller_id <> followed.seller_id
        and records.created_at > denied_at
        and records.created_at <= until_at
),

enablings as (
    select successors.seller_id, denied_at, min(created_at) as cured_at
    from successors
    join seller_events on seller_events.seller_id = successor_id
    where event_type = 'seller.enabled' and created_at > denied_at and created_at <= until_at
    group by all
),

fates as (
    select
        followed.seller_id,
        followed.denied_at,
        successors.seller_id is not null as is_back,
        (epoch_us(cured_at) - epoch_us(followed.denied_at)) / 1e6 as seconds_to_cure
    from followed
    left join (select distinct seller_id, denied_at from successors) as successors
        on successors.seller_id = followed.seller_id and successors.denied_at = followed.denied_at
    left join enablings
        on enablings.seller_id = followed.seller_id and enablings.denied_at = followed.denied_at
)

select
    month,
    reason,
    detail,
    cast(sum(denials) as bigint) as denials,
    cast(sum(retryable) as bigint) as retryable,
    count(*) as sellers,
    count(fates.seller_id) as followed,
    count(*) filter (where is_back) as reonboarded,
    count(seconds_to_cure) as cured,
    quantile_disc(seconds_to_cure, 0.5) as median_seconds_to_cure,
    count(*) filter (where is_back) / nullif(count(fates.seller_id), 0) as reonboarding_rate,
    count(seconds_to_cure) / nullif(count(*) filter (where is_back), 0) as cure_rate
from denied
left join fates on fates.seller_id = denied.seller_id and fates.denied_at = denied.denied_at
group by month, reason, detail
