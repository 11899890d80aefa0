-- One row per week and reason of the 12 weeks that end with as_of's UTC day: denials that carry it.
-- A week without any has one row, of no reason, so that weeks stand side by side as they passed.
-- open to: analysts
-- key: ends_on, reason, detail
-- order: ends_on, reason, detail nulls first
-- column: reason | text | category of the denial; null in a week without any
-- column: detail | text | the specific detail; null where there is none
-- column: denials | denials that carry the pair; 0 in a week without any

with answers as (
    -- A handful of combinations a week stands for any number of denials.
    select
        today - cast(7 * ((today - cast(created_at as date)) // 7) as integer) as ends_on,
        reasons,
        count(*) as denials
    from seller_events, (select cast(as_of as date) as today from clock)
    where event_type = 'seller.denied' and created_at >= today - 83
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
from past_weeks
left join pairs using (ends_on)
group by all
