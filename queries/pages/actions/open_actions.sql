-- One row per kind of next action among the watchlist, the gravest first: how many processes wait
-- for it, and how late they are. What is somebody else's turn is among it once waiting is no longer safe for
-- one of them, as alerts have it (docs/alerts.md#the-ladder): then all that wait like it are counted.
-- open to: analysts
-- key: next_action
-- order: expired desc, due_within_7_days desc, processes desc, next_action
-- column: processes | processes of the watchlist that wait for it
-- column: expired | those that are EXPIRED
-- column: due_within_7_days | those that are OVERDUE and due within 7 days
-- column: next_deadline_at | the nearest deadline that has not passed; null where all have

select
    next_action,
    count(*) as processes,
    count(*) filter (where state = 'EXPIRED') as expired,
    count(*) filter (where state = 'OVERDUE' and is_due_within_7_days) as due_within_7_days,
    min(deadline_at) filter (where deadline_at > as_of()) as next_deadline_at
from open_processes
where state in ('OVERDUE', 'EXPIRED') and next_action <> 'await_answer'
group by next_action
having not starts_with(next_action, 'await_')
    or bool_or(state = 'EXPIRED' or seconds_to_deadline < alert_rules().even_while_awaiting * 3600)
