-- One row per unfinished review process whose last attempt was not accepted, the nearest deadline
-- first: what is to be done, by us or by a person.
-- open to: analysts
-- reads: unfinished_work
-- key: process_id
-- order: deadline_at nulls last
-- order: process_id
-- by: process_id
-- column: process_id | the platform's id of the process
-- column: seller_id | the seller under review
-- column: deadline_at | the current deadline; null with no review event
-- column: days_to_deadline | whole days of 24 hours left, negative once late
-- column: seconds_to_deadline | whole seconds left, 0 at the deadline, negative once late
-- column: attempts | submission attempts that were sent
-- column: last_outcome | word | what became of the last of them
-- column: last_attempt_at | when the last of them started
-- column: next_action | word | the one thing to do next

select
    process_id,
    seller_id,
    deadline_at,
    days_to_deadline,
    seconds_to_deadline,
    attempts,
    last_outcome,
    last_attempt_at,
    next_action
from unfinished_work
where last_outcome is not null
