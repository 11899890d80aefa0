-- One row per unfinished review process: how it stands, without what the seller has answered and what its
-- last try leaves to be done, which take far longer to work out.
-- key: process_id
-- order: savable_order(deadline_at, as_of()) nulls last, process_id
-- column: state | word | EXPIRED, OVERDUE, PENDING or UNKNOWN
-- column: is_due_within_7_days | neither late nor more than 7 days away
-- column: fields | how many they are

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
    days_to_deadline between 0 and 6 as is_due_within_7_days,
    requested_fields,
    len(requested_fields) as fields,
    attempts,
    last_outcome,
    last_attempt_at,
    ticket_due,
    confirmed_at,
    contacted_at,
    contact_channel,
    contact_message_id,
    contacted_by,
    was_asked,
    is_ticket_open
from current_processes
where finished_at is null
