-- One row per review process that is OVERDUE or EXPIRED at as_of, worst first.
-- The Watchlist page reads `open_processes`, which has these rows and the other unfinished ones.
-- key: process_id
-- order: state, deadline_at, process_id
-- by: process_id, seller_id
-- column: state | word | EXPIRED or OVERDUE

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
