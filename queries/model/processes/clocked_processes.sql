-- One row per review process with the clock set against it: its state at as_of (docs/rules.md#review-processes).
-- key: process_id
-- column: state | word | PENDING, OVERDUE, EXPIRED, FINISHED; UNKNOWN while no review event is known
-- column: days_to_deadline | whole days of 24 hours left; 0 is due within 24 hours, negative is late; null once finished
-- column: seconds_to_deadline | whole seconds left, rounded down; 0 at the deadline, negative once late; null once finished
-- column: days_to_overdue | whole days until overdue_at, only while PENDING
-- column: finished_late | finished at the deadline or after it; false while unfinished; null where no deadline is known
-- column: ticket_due | a person has to open a support ticket: the last try was given up, or the platform keeps failing; not while one is open, nor once finished

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
