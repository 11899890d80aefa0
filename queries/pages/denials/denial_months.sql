-- One row per month and reason of the 12 calendar months that end with as_of's: denials that carry it.
-- A month without any has one row, of no reason, so that months stand side by side as they passed.
-- open to: analysts
-- key: ends_on, reason, detail
-- order: ends_on, reason, detail nulls first
-- column: ends_on | last UTC day of the month
-- column: reason | text | category of the denial; null in a month without any
-- column: denials | denials that carry the pair; 0 in a month without any

with months as (
    select last_day(cast(as_of as date) - to_months(cast(back as integer))) as ends_on
    from clock, range(12) as offsets (back)
    -- At the beginning of the calendar there are fewer: no program has a date before it.
    where datediff('month', date '0001-01-01', cast(as_of as date)) >= back
)

select ends_on, reason, detail, coalesce(denials, 0) as denials
from months
left join denials_by_month on last_day(month) = ends_on
