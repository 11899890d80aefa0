-- One row: how many of our own retries wait, are due, and should have been sent long ago.
-- open to: analysts
-- key: waiting
-- column: waiting | tries of ours (by cli or api) whose payload is to be sent again
-- column: due | those of them whose time has come
-- column: overdue | those whose time came five minutes ago or more: nobody sends them
-- column: next_due_at | when the first of them is or was due; null where none waits

select
    count(*) as waiting,
    count(*) filter (where retry_due_at <= as_of()) as due,
    count(*) filter (where retry_due_at <= as_of() - interval 5 minute) as overdue,
    min(retry_due_at) as next_due_at
from clocked_attempts
where is_last and is_retry_pending and via in ('cli', 'api')
