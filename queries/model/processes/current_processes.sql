-- One row per review process as it stands at as_of: what `process_state` says, and what of its collection
-- decides on what to do next.
-- key: process_id
-- column: seller_id | the seller under review: `customer_id` of the earliest event; with no event, the seller of the first attempt, else collection, that names one
-- column: seller_deleted_at | when the platform deleted that seller: ask it whether an open process still stands; null unless deleted

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
