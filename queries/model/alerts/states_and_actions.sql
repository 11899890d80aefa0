-- One row per review process: its state, and what is to be done about it.
-- reads: process_state, next_actions
-- key: process_id
-- column: process_id | the platform's id of the process
-- column: seller_id | the seller under review
-- column: review_type | the type, such as ACP; null for an unknown type
-- column: state | PENDING, OVERDUE, EXPIRED, FINISHED or UNKNOWN
-- column: deadline_at | the current deadline
-- column: seconds_to_deadline | whole seconds left, negative once late; null once finished
-- column: next_action | the one thing to do next; null once finished
-- column: ticket_due | a person has to open a support ticket

select
    process_state.process_id,
    seller_id,
    review_type,
    state,
    deadline_at,
    seconds_to_deadline,
    next_action,
    ticket_due
from process_state
left join next_actions on next_actions.process_id = process_state.process_id
