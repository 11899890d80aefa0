-- One row per review process seen in a review event, an attempt or a collection (rules.md
-- section 2), as it stands at as_of.
--
--     (created) --ACP--> PENDING --30 days--> OVERDUE --30 days--> EXPIRED
--     (created) --ACI-----------------------> OVERDUE --30 days--> EXPIRED
--     PENDING, OVERDUE, EXPIRED --a 200, or the platform reports it--> FINISHED
--
-- reads: clock, process_facts
-- key: process_id
-- by: process_id, seller_id
-- column: process_id | the platform's id of the process
-- column: seller_id | `customer_id` of the earliest event; else of the first attempt or collection
-- column: review_type | ACP or ACI, from the earliest event alone; null for an unknown type
-- column: state | PENDING, OVERDUE, EXPIRED, FINISHED; UNKNOWN while no review event is known
-- column: opened_at | when the platform created the earliest event
-- column: overdue_at | ACP: 30 days before the deadline; otherwise opened_at
-- column: deadline_at | the deadline that the latest event carries
-- column: days_to_deadline | whole days of 24 hours left; 0 is due within 24 hours, negative is late; null once finished
-- column: days_to_overdue | whole days until overdue_at, only while PENDING
-- column: requested_fields | the field paths that the latest event asks for
-- column: reported_status | the status that the latest event reports
-- column: reported_at | when the platform created the latest event
-- column: finished_at | the first end of an attempt answered 200 or creation of a report of FINISHED
-- column: finished_by | submission or platform, whichever was first; on a tie, submission
-- column: finished_late | finished at the deadline or after it; false while unfinished; null where no deadline is known
-- column: attempts | submission attempts that were sent (refusals left out)
-- column: last_outcome | what became of the last of them
-- column: last_attempt_at | when the last of them started
-- column: deadline_mismatch | the deadline is more than a day off 60 (ACP) or 30 (ACI) days
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
    deadline_mismatch,
    deadline_changed,
    status_disagrees,
    open_after_finish,
    identity_changed
from (select *, (select as_of from clock) as as_of from process_facts)
