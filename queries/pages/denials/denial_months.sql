-- One row per month and reason of the 12 calendar months that end with as_of's: denials that carry it.
-- A month without any has no row.
-- reads: clock, seller_events
-- key: ends_on, reason, detail
-- order: ends_on
-- order: reason
-- order: detail nulls first
-- column: ends_on | last UTC day of the month
-- column: reason | category of the denial
-- column: detail | the specific detail; null where there is none
-- column: denials | denials that carry the pair

with answers as (
    -- A handful of combinations a month stands for any number of denials.
    select last_day(cast(created_at as date)) as ends_on, reasons, count(*) as denials
    from seller_events, (select cast(as_of as date) as today from clock)
    where event_type = 'seller.denied'
        and datediff('month', cast(created_at as date), today) between 0 and 11
    group by all
),

pairs as (
    select ends_on, unnest(reason_pairs(reasons)) as pair, denials
    from answers
)

select
    ends_on,
    pair.reason as reason,
    pair.detail as detail,
    cast(sum(denials) as bigint) as denials
from pairs
group by all
