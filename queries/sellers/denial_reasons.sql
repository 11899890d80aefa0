-- One row per distinct pair of reason and detail, most frequent first. A denial with two reasons
-- counts in each of them, so the rows do not add up to the number of denials.
-- open to: analysts
-- key: reason, detail
-- order: denials desc, reason, detail nulls first
-- column: reason | text | category of the denial, as the platform wrote it
-- column: detail | text | the specific detail; null where there is none
-- column: denials | denials that carry the pair
-- column: retryable | those with retry = true
-- column: retryable_share | retryable / those that carry a retry at all; null over nothing

with answers as (
    -- A handful of combinations stands for any number of denials.
    select reasons, retry, count(*) as denials
    from seller_events
    where event_type = 'seller.denied'
    group by reasons, retry
),

pairs as (
    select unnest(reason_pairs(reasons)) as pair, retry, denials
    from answers
)

select
    pair.reason as reason,
    pair.detail as detail,
    cast(sum(denials) as bigint) as denials,
    cast(coalesce(sum(denials) filter (where retry), 0) as bigint) as retryable,
    coalesce(sum(denials) filter (where retry), 0)
        / nullif(sum(denials) filter (where retry is not null), 0) as retryable_share
from pairs
group by pair.reason, pair.detail
