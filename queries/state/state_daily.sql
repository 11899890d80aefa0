-- One row per UTC day from the first opened_at to as_of: how many processes stood in each state at
-- the day's last microsecond, or at as_of for the current day (docs/rules.md#other-views). Processes
-- without a review event are left out. A day shows what had been received by its end, so each row
-- equals `process_state` as of then.
-- open to: analysts
-- key: day
-- column: day | UTC day

select
    cast(unnest(generate_series(first_day, last_day, interval 1 day)) as date) as day,
    pending,
    overdue,
    expired,
    finished
from state_stretches
