-- One row per month of the deadline and type of seller: how many reviews were due, and what became of them
-- (docs/rules.md#over-time). A month that is not over is told by `due_so_far`, not by its share.
-- open to: analysts
-- key: month, seller_type
-- order: month, seller_type nulls last
-- column: month | UTC month of the deadline, its first day
-- column: seller_type | text | individual or business, by the seller's latest event that says it; null where none does
-- column: due | reviews whose deadline is in it
-- column: finished_in_time | those finished before their deadline
-- column: finished_late | those finished at it or after it
-- column: expired | those unfinished and EXPIRED
-- column: open | those unfinished otherwise
-- column: due_so_far | those whose deadline has come
-- column: on_time_share | of these, those finished in time; null over nothing

select
    cast(date_trunc('month', deadline_at) as date) as month,
    seller_type,
    count(*) as due,
    count(*) filter (where fate = 'finished_in_time') as finished_in_time,
    count(*) filter (where fate = 'finished_late') as finished_late,
    count(*) filter (where fate = 'expired') as expired,
    count(*) filter (where fate = 'open') as open,
    count(*) filter (where is_due) as due_so_far,
    on_time_share(fate, is_due) as on_time_share
from due_processes
left join seller_records on seller_records.seller_id = due_processes.seller_id
group by all
