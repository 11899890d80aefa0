-- One row per process that may stand on a rung which it reached not long ago: unfinished, and of some
-- rung it is not too late to tell. They are few, however many processes there were.
-- key: process_id
-- column: state | PENDING, OVERDUE, EXPIRED or UNKNOWN

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
