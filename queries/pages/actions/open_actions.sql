-- One row per kind of next action in the queue `act_now`, what can still be saved first: how many processes wait for it,
-- and how late they are.
-- open to: analysts
-- key: next_action
-- order: next_deadline_at nulls last, expired desc, next_action
-- column: processes | processes of the queue that wait for it
-- column: expired | those that are EXPIRED
-- column: due_within_7_days | those that are due in the 7 days to come
-- column: next_deadline_at | the nearest deadline that has not passed; null where all have

select
    next_action,
    count(*) as processes,
    count(*) filter (where state = 'EXPIRED') as expired,
    count(*) filter (where is_due_within_7_days) as due_within_7_days,
    min(deadline_at) filter (where deadline_at > as_of()) as next_deadline_at
from unfinished_work
where queue = 'act_now'
group by next_action
