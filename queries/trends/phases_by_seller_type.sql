-- One row per month of the finish, type of seller and step: how long finished reviews took until then
-- (docs/rules.md#over-time).
-- open to: analysts
-- key: month, seller_type, step
-- order: month, seller_type nulls last, step
-- column: month | UTC month of the finish, its first day
-- column: seller_type | text | individual or business, by the seller's latest event that says it; null where none does
-- column: processes | finished reviews that came to that step
-- column: median_seconds | the median of the seconds from the opening to the first such step, by linear interpolation
-- column: p90_seconds | their ninth decile, likewise

select
    cast(date_trunc('month', phase_steps.finished_at) as date) as month,
    seller_type,
    step,
    count(*) as processes,
    quantile_cont(microseconds, 0.5) / 1e6 as median_seconds,
    quantile_cont(microseconds, 0.9) / 1e6 as p90_seconds
from phase_steps
join process_facts on process_facts.process_id = phase_steps.process_id
left join seller_records on seller_records.seller_id = process_facts.seller_id
group by all
