-- One row per kind of next action among the watchlist, the gravest first: how many processes wait
-- for it, and how late they are.
-- reads: open_processes
-- key: next_action
-- column: next_action | what is to be done
-- column: processes | processes of the watchlist that wait for it
-- column: expired | those that are EXPIRED
-- column: due_within_7_days | those that are OVERDUE and due within 7 days
-- column: next_deadline_at | the nearest deadline that has not passed; null where all have

select
    next_action,
    count(*) as processes,
    count(*) filter (where state = 'EXPIRED') as expired,
    count(*) filter (where state = 'OVERDUE' and is_due_within_7_days) as due_within_7_days,
    min(deadline_at) filter (where days_to_deadline >= 0) as next_deadline_at
from open_processes
where state in ('OVERDUE', 'EXPIRED')
group by next_action
order by expired desc, due_within_7_days desc, processes desc, next_action
