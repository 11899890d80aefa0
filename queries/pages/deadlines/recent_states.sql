-- One row per UTC day of the last thirty, from the first opened_at on: as `state_daily`, newest last.
-- open to: analysts
-- key: day
-- column: day | UTC day

select
    cast(unnest(generate_series(
        greatest(first_day, cast(clock.as_of as date) - 29), last_day, interval 1 day
    )) as date) as day,
    pending,
    overdue,
    expired,
    finished
from state_stretches, clock
where last_day >= cast(clock.as_of as date) - 29
