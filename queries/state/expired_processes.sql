-- One row per review process that is EXPIRED at as_of, longest expired first.
-- The platform can penalise the seller, even by blocking cash-in and cash-out; it still accepts a
-- submission (docs/contract.md#states-and-transitions).
-- reads: process_state
-- key: process_id
-- order: deadline_at
-- order: process_id
-- by: process_id, seller_id
-- column: process_id | the platform's id of the process
-- column: seller_id | the seller under review
-- column: seller_deleted_at | when the platform deleted that seller: ask it whether the process still stands; null unless deleted
-- column: review_type | word | the type, such as ACP; null for an unknown type
-- column: opened_at | when the platform created the process's earliest event
-- column: deadline_at | the deadline that was missed
-- column: days_to_deadline | whole days of 24 hours left, negative once late
-- column: seconds_to_deadline | whole seconds left, negative once late
-- column: reported_status | text | the status that the latest event reports
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
