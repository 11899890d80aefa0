-- One row per process, and side of the comparison, whose kept row is not what the log says of it.
-- Compared are the processes to which nothing occurs after as_of: of others a kept row says more.
-- reads: clock, process_facts, kept.processes, kept.progress
-- key: process_id, side
-- column: process_id | the process
-- column: side | log or kept: which of the two has this row and the other has not

with settled as (
    select *
    from kept.processes
    where settled_at <= (select as_of from clock)
),

by_kept as (
    select
        process_id, seller_id, review_type, opened_at, overdue_at, deadline_at, overdue_from,
        expired_from, from_json(requested_fields, '["VARCHAR"]') as requested_fields,
        reported_status, reported_at, finished_at, finished_by, attempts, last_outcome,
        last_attempt_at, in_flight_until, collected_at, journey_opened_at, answered_at,
        overdue_found_at, overdue_found_seq, expired_found_at, expired_found_seq,
        first_received_at, overdue_since, expired_since,
        finished_known_at, deadline_mismatch, deadline_changed,
        status_disagrees, open_after_finish, identity_changed
    from settled
    where is_known
),

by_log as (
    select
        process_id, seller_id, review_type, opened_at, overdue_at, deadline_at, overdue_from,
        expired_from, requested_fields, reported_status, reported_at, finished_at, finished_by,
        attempts, last_outcome, last_attempt_at, in_flight_until, collected_at, journey_opened_at, answered_at,
        overdue_found_at, overdue_found_seq, expired_found_at, expired_found_seq,
        first_received_at, overdue_since, expired_since,
        finished_known_at, deadline_mismatch,
        deadline_changed, status_disagrees, open_after_finish, identity_changed
    from process_facts
    anti join (
        select process_id from kept.processes
        where settled_at > (select as_of from clock)
    ) as unsettled using (process_id)
)

select process_id, side
from (
    (select process_id, 'log' as side from (from by_log except from by_kept))
    union all
    (select process_id, 'kept' as side from (from by_kept except from by_log))
)
where (select kept = entries from kept.progress)
