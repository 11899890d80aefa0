-- One row per distinct pair of reason and detail, most frequent first. A denial with two reasons
-- counts in each of them, so the rows do not add up to the number of denials.
-- reads: denials
-- key: reason, detail
-- column: reason | category of the denial, as the platform wrote it
-- column: detail | the specific detail; null where there is none
-- column: denials | denials that carry the pair
-- column: retryable | those with retry = true
-- column: retryable_share | retryable / those that carry a retry at all; null over nothing

with pairs as (
    select
        event_id,
        retry,
        unnest(reasons) as pair
    from denials
)

select
    pair.reason as reason,
    pair.detail as detail,
    count(*) as denials,
    count(*) filter (where retry) as retryable,
    count(*) filter (where retry) / nullif(count(retry), 0) as retryable_share
from pairs
group by pair.reason, pair.detail
order by denials desc, reason, detail nulls first
