-- One row per week and reason of the 12 weeks that end with as_of's UTC day: denials that carry it.
-- A week without any has no row.
-- reads: clock, denials
-- key: ends_on, reason, detail
-- column: ends_on | last UTC day of the week
-- column: reason | category of the denial
-- column: detail | the specific detail; null where there is none
-- column: denials | denials that carry the pair

with dated as (
    select
        today - cast(7 * ((today - cast(denied_at as date)) // 7) as integer) as ends_on,
        unnest(reasons) as pair
    from denials, (select cast(as_of as date) as today from clock)
    where denied_at >= today - 83
)

select ends_on, pair.reason as reason, pair.detail as detail, count(*) as denials
from dated
group by all
order by ends_on, reason, detail nulls first
