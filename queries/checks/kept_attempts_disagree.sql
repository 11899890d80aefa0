-- One row per attempt, and side of the comparison, whose kept row is not what the log says of it.
-- Compared are the attempts for processes to which nothing occurs after as_of.
-- reads: clock, attempt_facts, facts.acts, kept.attempts, kept.processes, kept.progress
-- key: attempt_id, side
-- column: attempt_id | the attempt
-- column: side | log or kept: which of the two has this row and the other has not

with unsettled as (
    select process_id from kept.processes where settled_at > (select as_of from clock)
    union
    select process_id from facts.acts
    where occurred_at > (select as_of from clock) and process_id is not null
),

by_kept as (
    select
        attempt_id, process_id, seller_id, via, started_at, finished_at, ordered_at, timeout_at,
        status, error,
        case
            when finish_seq is null and (select as_of from clock) < timeout_at then 'in_flight'
            else outcome
        end as outcome,
        outcome_at, retry_after_at, payload_type, has_payload, payload_sha256, start_seq,
        finish_seq, attempt_number, try_number, attempt_of_try, previous_attempt_id, is_last,
        retry_ended_at, gives_up_at, is_refused
    from kept.attempts
    where process_id not in (from unsettled)
),

by_log as (
    select * exclude (is_retryable)
    from attempt_facts
    where process_id not in (from unsettled)
)

select attempt_id, side
from (
    (select attempt_id, 'log' as side from (from by_log except from by_kept))
    union all
    (select attempt_id, 'kept' as side from (from by_kept except from by_log))
)
where (select kept = entries from kept.progress)
