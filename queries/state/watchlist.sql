-- One row per review process that is OVERDUE or EXPIRED at as_of, worst first.
-- The Watchlist page reads `open_processes`, which has these rows and the other unfinished ones.
-- reads: process_state
-- key: process_id
-- order: state
-- order: deadline_at
-- order: process_id
-- by: process_id, seller_id
-- column: process_id | the platform's id of the process
-- column: seller_id | the seller under review
-- column: seller_deleted_at | when the platform deleted that seller: ask it whether the process still stands; null unless deleted
-- column: review_type | word | the type, such as ACP; null for an unknown type
-- column: state | word | EXPIRED or OVERDUE
-- column: opened_at | when the platform created the process's earliest event
-- column: deadline_at | the current deadline
-- column: days_to_deadline | whole days of 24 hours left, negative once late
-- column: seconds_to_deadline | whole seconds left, negative once late
-- column: requested_fields | text | the field paths asked for
-- column: attempts | submission attempts that were sent
-- column: last_outcome | word | what became of the last of them
-- column: last_attempt_at | when the last of them started
-- column: ticket_due | a person has to open a support ticket

select
    process_id,
    seller_id,
    seller_deleted_at,
    review_type,
    state,
    opened_at,
    deadline_at,
    days_to_deadline,
    seconds_to_deadline,
    requested_fields,
    attempts,
    last_outcome,
    last_attempt_at,
    ticket_due
from process_state
where state in ('OVERDUE', 'EXPIRED')
    -- None of these is finished; so those that are need not be read to work out their states.
    and finished_at is null
