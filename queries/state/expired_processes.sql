-- One row per review process that is EXPIRED at as_of, longest expired first.
-- The platform can penalise the seller, even by blocking cash-in and cash-out; it still accepts a
-- submission (contract, "States and transitions").
-- reads: process_state
-- key: process_id
-- by: process_id, seller_id
-- column: process_id | the platform's id of the process
-- column: seller_id | the seller under review
-- column: review_type | ACP or ACI; null for an unknown type
-- column: opened_at | when the platform created the process's earliest event
-- column: deadline_at | the deadline that was missed
-- column: days_to_deadline | whole days of 24 hours left, negative once late
-- column: reported_status | the status that the latest event reports
-- column: requested_fields | the field paths asked for
-- column: attempts | submission attempts that were sent
-- column: last_outcome | what became of the last of them
-- column: last_attempt_at | when the last of them started

select
    process_id,
    seller_id,
    review_type,
    opened_at,
    deadline_at,
    days_to_deadline,
    reported_status,
    requested_fields,
    attempts,
    last_outcome,
    last_attempt_at
from process_state
where state = 'EXPIRED'
order by deadline_at, process_id
