-- One row per review process as it stands at as_of: what `process_state` says, and what of its collection
-- decides on what to do next.
-- reads: clocked_processes, deleted_sellers
-- key: process_id
-- column: process_id | the platform's id of the process
-- column: seller_id | `customer_id` of the earliest event; with no event, the seller of the first attempt, else collection, that names one
-- column: seller_deleted_at | when the platform deleted that seller: ask it whether an open process still stands; null unless deleted
-- column: review_type | the type, such as ACP, from the earliest event alone; null for an unknown type
-- column: state | PENDING, OVERDUE, EXPIRED, FINISHED; UNKNOWN while no review event is known
-- column: opened_at | when the platform created the earliest event
-- column: overdue_at | when its days of PENDING are over (of an ACP, day 30), or 30 days before the deadline where that is earlier; of other types, opened_at
-- column: deadline_at | of the latest event that carries one, once finished of those before the end; where none does, the contract's total
-- column: days_to_deadline | whole days of 24 hours left; 0 is due within 24 hours, negative is late; null once finished
-- column: seconds_to_deadline | whole seconds left, rounded down; 0 at the deadline, negative once late; null once finished
-- column: days_to_overdue | whole days until overdue_at, only while PENDING
-- column: requested_fields | of the latest event that carries a readable list; an empty one where none does
-- column: reported_status | the status that the latest event reports
-- column: reported_at | when the platform created the latest event
-- column: finished_at | the first end of an attempt answered 200 or creation of a report of FINISHED
-- column: finished_by | submission or platform, whichever was first; on a tie, submission
-- column: finished_late | finished at the deadline or after it; false while unfinished; null where no deadline is known
-- column: attempts | submission attempts that were sent (refusals left out)
-- column: last_outcome | what became of the last of them
-- column: last_attempt_at | when the last of them started
-- column: ticket_due | a person has to open a support ticket: the last try was given up, or the platform keeps failing; not while one is open, nor once finished
-- column: deadline_mismatch | the deadline is more than a day off the contract's total
-- column: deadline_changed | events of the process disagree on the deadline
-- column: status_disagrees | the latest report fits the clock neither an hour before nor after it
-- column: open_after_finish | an event created after finished_at reports an open status
-- column: identity_changed | events of the process disagree on type or seller
-- column: confirmed_at | when the seller last confirmed what they answered
-- column: contacted_at | when the seller was last contacted, by what still stands
-- column: contact_channel | by which channel
-- column: contact_message_id | of which message, call or letter; null for a step of the seller's
-- column: contacted_by | who called, posted or sent that by hand; null for the schedule, the seller, another system
-- column: was_asked | the seller was contacted, or reminded as it was recorded before there were seller notices
-- column: is_ticket_open | a support ticket was opened, and not closed since

select
    processes.process_id,
    processes.seller_id,
    deleted_sellers.deleted_at as seller_deleted_at,
    review_type,
    state,
    opened_at,
    overdue_at,
    deadline_at,
    days_to_deadline,
    seconds_to_deadline,
    days_to_overdue,
    requested_fields,
    reported_status,
    reported_at,
    finished_at,
    finished_by,
    finished_late,
    attempts,
    last_outcome,
    last_attempt_at,
    ticket_due,
    deadline_mismatch,
    deadline_changed,
    status_disagrees,
    open_after_finish,
    identity_changed,
    confirmed_at,
    contacted_at,
    contact_channel,
    contact_message_id,
    contacted_by,
    was_asked,
    is_ticket_open
from clocked_processes as processes
left join deleted_sellers on deleted_sellers.seller_id = processes.seller_id
