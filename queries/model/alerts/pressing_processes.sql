-- One row per process that may stand on a rung which it reached not long ago: unfinished, and of some
-- rung it is not too late to tell. They are few, however many processes there were.
-- reads: clocked_processes
-- key: process_id
-- column: process_id | the review process
-- column: seller_id | the seller under review
-- column: review_type | the type, such as ACP; null for an unknown type
-- column: state | PENDING, OVERDUE, EXPIRED or UNKNOWN
-- column: opened_at | when the platform created the earliest event
-- column: deadline_at | the current deadline
-- column: seconds_to_deadline | whole seconds left, negative once late
-- column: overdue_found_at | when it became OVERDUE: by the clock, or by an earlier report for this deadline
-- column: overdue_found_seq | the entry that shows it
-- column: overdue_known_at | when it was first known to be OVERDUE: a report or a deadline may have come later
-- column: expired_known_at | when it was first known to be EXPIRED, likewise
-- column: first_received_at | when the first of its events was received; null while none is known

select
    process_id,
    seller_id,
    review_type,
    state,
    opened_at,
    deadline_at,
    seconds_to_deadline,
    overdue_found_at,
    overdue_found_seq,
    overdue_known_at,
    expired_known_at,
    first_received_at
from clocked_processes
where finished_at is null
    -- No rung is reached later than the last of these.
    and greatest(
        opened_at,
        overdue_found_at,
        overdue_known_at,
        deadline_at,
        expired_known_at,
        first_received_at
    ) > alerts_from()
