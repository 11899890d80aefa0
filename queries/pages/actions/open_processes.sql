-- One row per unfinished review process, worst first, with what to do next and who sees to it.
-- reads: unfinished_work, assignments
-- key: process_id
-- order: state
-- order: deadline_at nulls last
-- order: unfinished_work.process_id
-- by: process_id, seller_id
-- found by: unfinished_states
-- column: process_id | the platform's id of the process
-- column: seller_id | the seller under review
-- column: seller_deleted_at | when the platform deleted that seller: ask it whether the process still stands; null unless deleted
-- column: review_type | word | ACP or ACI; null for an unknown type
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
-- column: next_action | word | the one thing to do next
-- column: fields_required | fields that a submission needs; null while nothing was asked for
-- column: fields_answered | those that the seller has answered since the request
-- column: assignee | staff | who sees to it; null where nobody is assigned

select
    unfinished_work.*,
    assignee
from unfinished_work
left join assignments on assignments.process_id = unfinished_work.process_id
