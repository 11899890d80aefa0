-- One row per month and reason of the 12 calendar months that end with as_of's: denials that carry it.
-- A month without any has one row, of no reason, so that months stand side by side as they passed.
-- open to: analysts
-- key: ends_on, reason, detail
-- order: ends_on, reason, detail nulls first
-- column: ends_on | last UTC day of the month
-- column: reason | text | category of the denial; null in a month without any
-- column: detail | text | the specific detail; null where there is none
-- column: denials | denials that carry the pair; 0 in a month without any

with months as (
    select last_day(cast(as_of as date) - to_months(cast(back as integer))) as ends_on
    from clock, range(12) as offsets (back)
    -- At the beginning of the calendar there are fewer: no program has a date before it.
    where datediff('month', date '0001-01-01', cast(as_of as date)) >= back
),

answers as (
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
    cast(coalesce(sum(denials), 0) as bigint) as denials
from months
left join pairs using (ends_on)
group by all
