-- One row per month of the finish, type of review and step: how long finished reviews took from their
-- opening until then (docs/rules.md#over-time).
-- open to: analysts
-- key: month, review_type, step
-- order: month, review_type nulls last, step
-- column: month | UTC month of the finish, its first day
-- column: review_type | word | the type, such as ACP; null for an unknown one
-- column: processes | finished reviews that came to that step
-- column: median_seconds | the median of the seconds from the opening to the first such step, by linear interpolation
-- column: p90_seconds | their ninth decile, likewise

select
    cast(date_trunc('month', finished_at) as date) as month,
    review_type,
    step,
    count(*) as processes,
    quantile_cont(microseconds, 0.5) / 1e6 as median_seconds,
    quantile_cont(microseconds, 0.9) / 1e6 as p90_seconds
from phase_steps
group by all
