-- One row per unfinished review process: how it stands, without what the seller has answered and what its
-- last try leaves to be done, which take far longer to work out.
-- reads: current_processes
-- key: process_id
-- order: state
-- order: deadline_at nulls last
-- order: process_id
-- column: process_id | the platform's id of the process
-- column: seller_id | the seller under review
-- column: seller_deleted_at | when the platform deleted that seller: ask it whether the process still stands; null unless deleted
-- column: review_type | word | the type, such as ACP; null for an unknown type
-- column: state | word | EXPIRED, OVERDUE, PENDING or UNKNOWN
-- column: opened_at | when the platform created the process's earliest event
-- column: deadline_at | the current deadline; null while no review event is known
-- column: days_to_deadline | whole days of 24 hours left, negative once late
-- column: seconds_to_deadline | whole seconds left, negative once late
-- column: is_due_within_7_days | neither late nor more than 7 days away
-- column: requested_fields | text | the field paths asked for
-- column: fields | how many they are
-- column: attempts | submission attempts that were sent
-- column: last_outcome | word | what became of the last of them
-- column: last_attempt_at | when the last of them started
-- column: ticket_due | a person has to open a support ticket
-- column: confirmed_at | when the seller last confirmed what they answered
-- column: contacted_at | when the seller was last contacted, by what still stands
-- column: contact_channel | text | by which channel
-- column: contact_message_id | of which message, call or letter; null for a step of the seller's
-- column: contacted_by | staff | who called, posted or sent that by hand; null for the schedule, the seller, another system
-- column: was_asked | the seller was contacted, or reminded as it was recorded before there were seller notices
-- column: is_ticket_open | a support ticket was opened, and not closed since

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
