-- One row per review process with the clock set against it: its state at as_of (docs/rules.md#review-processes).
-- reads: process_facts
-- key: process_id
-- column: process_id | the platform's id of the process
-- column: seller_id | the seller under review
-- column: review_type | the type, such as ACP; null for an unknown type
-- column: state | PENDING, OVERDUE, EXPIRED, FINISHED; UNKNOWN while no review event is known
-- column: opened_at | when the platform created the earliest event
-- column: overdue_at | from when it is OVERDUE
-- column: deadline_at | the current deadline
-- column: days_to_deadline | whole days of 24 hours left; null once finished
-- column: seconds_to_deadline | whole seconds left; null once finished
-- column: days_to_overdue | whole days until overdue_at, only while PENDING
-- column: requested_fields | the field paths asked for
-- column: reported_status | the status that the latest event reports
-- column: reported_at | when the platform created the latest event
-- column: finished_at | when it was finished; null until then
-- column: finished_by | submission or platform
-- column: finished_late | finished at the deadline or after it; null where no deadline is known
-- column: attempts | submission attempts that were sent
-- column: last_outcome | what became of the last of them
-- column: last_attempt_at | when the last of them started
-- column: ticket_due | a person has to open a support ticket
-- column: is_ticket_open | a support ticket was opened, and not closed since
-- column: overdue_found_at | when it became OVERDUE: by the clock, or by an earlier report for this deadline
-- column: overdue_found_seq | the entry that shows it
-- column: expired_found_at | when it became or becomes EXPIRED, likewise
-- column: overdue_known_at | when it was first known to be OVERDUE: the clock's strike or the receipt of a report, once the deadline was received
-- column: expired_known_at | when it was first known to be EXPIRED, likewise
-- column: confirmed_at | when the seller last confirmed what they answered
-- column: contacted_at | when the seller was last contacted, by what still stands
-- column: contact_channel | by which channel
-- column: contact_message_id | of which message, call or letter; null for a step of the seller's
-- column: contacted_by | who called, posted or sent that by hand; null for the schedule, the seller, another system
-- column: was_asked | the seller was contacted, or reminded as it was recorded before there were seller notices
-- column: unnotified_from | from when on it shows that nobody contacted the seller between the first receipt and the end of the time; null where somebody did
-- column: late_notice_from | from when on it shows that nobody did in the first half of that time; null where somebody did, or it was finished before
-- column: first_received_seq | the entry of the first of its events
-- column: expired_found_seq | the entry that shows that it is EXPIRED
-- column: first_received_at | when the first of its events was received; null while none is known
-- column: deadline_mismatch | the deadline is more than a day off the contract's total
-- column: deadline_changed | events of the process disagree on the deadline
-- column: status_disagrees | the latest report fits the clock neither an hour before nor after it
-- column: open_after_finish | an event created after finished_at reports an open status
-- column: identity_changed | events of the process disagree on type or seller

select
    process_id,
    seller_id,
    review_type,
    case
        when finished_at is not null then 'FINISHED'
        when as_of >= expired_from then 'EXPIRED'
        when as_of >= overdue_from then 'OVERDUE'
        when opened_at is not null then 'PENDING'
        else 'UNKNOWN'
    end as state,
    opened_at,
    overdue_at,
    deadline_at,
    case when finished_at is null then whole_days(deadline_at, as_of) end as days_to_deadline,
    case when finished_at is null then whole_seconds(deadline_at, as_of) end
        as seconds_to_deadline,
    case when state = 'PENDING' then whole_days(overdue_at, as_of) end as days_to_overdue,
    requested_fields,
    reported_status,
    reported_at,
    finished_at,
    finished_by,
    finished_at is not null and finished_at >= deadline_at as finished_late,
    attempts,
    case when in_flight_until > as_of then 'in_flight' else last_outcome end as last_outcome,
    last_attempt_at,
    coalesce(ticket_due_from <= as_of, false) as ticket_due,
    is_ticket_open,
    overdue_found_at,
    overdue_found_seq,
    expired_found_at,
    overdue_known_at,
    expired_known_at,
    confirmed_at,
    contacted_at,
    contact_channel,
    contact_message_id,
    contacted_by,
    was_asked,
    unnotified_from,
    late_notice_from,
    first_received_seq,
    expired_found_seq,
    first_received_at,
    deadline_mismatch,
    deadline_changed,
    status_disagrees,
    open_after_finish,
    identity_changed
from (select *, as_of() as as_of from process_facts)
