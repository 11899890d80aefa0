-- One row per month of the finish, person and step: how long finished reviews took until then, by who had them assigned
-- at the earlier of the finish and the deadline (docs/rules.md#over-time).
-- key: month, assignee, step
-- order: month, assignee nulls last, step
-- column: month | UTC month of the finish, its first day
-- column: assignee | staff | who had them assigned; null for nobody
-- column: processes | finished reviews that came to that step
-- column: median_seconds | the median of the seconds from the opening to the first such step, by linear interpolation
-- column: p90_seconds | their ninth decile, likewise

select
    cast(date_trunc('month', phase_steps.finished_at) as date) as month,
    assignee,
    step,
    count(*) as processes,
    quantile_cont(microseconds, 0.5) / 1e6 as median_seconds,
    quantile_cont(microseconds, 0.9) / 1e6 as p90_seconds
from phase_steps
join process_ends on process_ends.process_id = phase_steps.process_id
group by all
