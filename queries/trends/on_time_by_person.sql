-- One row per month of the deadline and person: what became of the reviews that are finished or due, by
-- who had them assigned when they were, whichever was first (docs/rules.md#over-time).
-- key: month, assignee
-- order: month, assignee nulls last
-- column: month | UTC month of the deadline, its first day
-- column: assignee | staff | who had them assigned; null for nobody
-- column: ended | reviews that are finished or whose deadline has come
-- column: finished_in_time | those finished before their deadline
-- column: finished_late | those finished at it or after it
-- column: expired | those unfinished and EXPIRED
-- column: due_so_far | those whose deadline has come
-- column: on_time_share | of these, those finished in time; null over nothing

select
    cast(date_trunc('month', deadline_at) as date) as month,
    assignee,
    count(*) as ended,
    count(*) filter (where fate = 'finished_in_time') as finished_in_time,
    count(*) filter (where fate = 'finished_late') as finished_late,
    count(*) filter (where fate = 'expired') as expired,
    count(*) filter (where is_due) as due_so_far,
    on_time_share(fate, is_due) as on_time_share
from process_ends
group by all
