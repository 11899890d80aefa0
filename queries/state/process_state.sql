-- One row per review process seen in a review event, an attempt or a collection
-- (docs/rules.md#review-processes), as it stands at as_of.
--
--     (created) --its type has such days--> PENDING --overdue_at--> OVERDUE --the deadline--> EXPIRED
--     (created) --it has none--> OVERDUE --the deadline--> EXPIRED
--     PENDING, OVERDUE, EXPIRED --a 200, or the platform reports it--> FINISHED
--
-- key: process_id
-- by: process_id, seller_id

select
    process_id,
    seller_id,
    seller_deleted_at,
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
    identity_changed
from current_processes
