-- One row per review process that is EXPIRED at as_of, longest expired first.
-- The platform can penalise the seller, even by blocking cash-in and cash-out; it still accepts a
-- submission (docs/contract.md#states-and-transitions).
-- key: process_id
-- order: deadline_at, process_id
-- by: process_id, seller_id
-- column: deadline_at | the deadline that was missed

select
    process_id,
    seller_id,
    seller_deleted_at,
    review_type,
    opened_at,
    deadline_at,
    days_to_deadline,
    seconds_to_deadline,
    reported_status,
    requested_fields,
    attempts,
    last_outcome,
    last_attempt_at,
    ticket_due
from process_state
where state = 'EXPIRED'
    -- None of these is finished; so those that are need not be read to work out their states.
    and finished_at is null
