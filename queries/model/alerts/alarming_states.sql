-- One row per process that an alert may be about: its state, and what is to be done about it.
-- reads: states_and_actions, alarming_processes
-- key: process_id
-- column: process_id | the platform's id of the process
-- column: seller_id | the seller under review
-- column: review_type | the type, such as ACP; null for an unknown type
-- column: state | PENDING, OVERDUE, EXPIRED, FINISHED or UNKNOWN
-- column: deadline_at | the current deadline
-- column: seconds_to_deadline | whole seconds left, negative once late; null once finished
-- column: next_action | the one thing to do next; null once finished
-- column: ticket_due | a person has to open a support ticket

select *
from states_and_actions
where process_id in (select process_id from alarming_processes)
