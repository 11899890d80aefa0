-- One row per week of the 12 that end with as_of's UTC day. At the beginning of the calendar there are
-- fewer: no program has a date before it.
-- key: ends_on
-- column: ends_on | last UTC day of the week

select cast(as_of as date) - cast(7 * back as integer) as ends_on
from clock, range(12) as offsets (back)
where datediff('day', date '0001-01-01', cast(as_of as date)) >= 7 * back
