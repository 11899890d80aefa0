-- One row per unfinished review process whose last attempt was not accepted, the nearest deadline
-- first: how it stands, without what is to be done next.
-- key: process_id
-- order: deadline_at nulls last, process_id

select
    process_id,
    seller_id,
    deadline_at,
    days_to_deadline,
    seconds_to_deadline,
    attempts,
    last_outcome,
    last_attempt_at
from unfinished_states
where last_outcome is not null
