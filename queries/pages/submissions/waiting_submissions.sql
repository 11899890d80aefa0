-- One row per unfinished review process whose last attempt was not accepted, the nearest deadline
-- first: what is to be done, by us or by a person.
-- open to: analysts
-- key: process_id
-- order: deadline_at nulls last, process_id
-- by: process_id

select
    process_id,
    seller_id,
    deadline_at,
    days_to_deadline,
    seconds_to_deadline,
    attempts,
    last_outcome,
    last_attempt_at,
    next_action,
    queue
from unfinished_work
where last_outcome is not null
