-- One row per submission attempt, refusals included, with what comes next by the clock
-- (docs/rules.md#tries-and-retries).
-- key: attempt_id
-- column: is_given_up | 24 hours or 30 attempts were over with the retry still wanted
-- column: gives_up_at | when a retry is no longer tried; null after an outcome that is not retried
-- column: is_retry_pending | the same payload is to be sent again, once it is due
-- column: is_held | it would be sent again, but our rules now refuse it: a person has to decide
-- column: retry_due_at | not before this: the wait doubles from 1 s to 15 min, a fifth longer or shorter, and Retry-After counts; null unless pending

with judged as (
    select
        *,
        was_retry_given_up(is_retryable, gives_up_at, retry_ended_at, as_of()) as is_given_up
    from attempt_facts
),

waiting as (
    select
        *,
        coalesce(is_retryable, false) and attempt_number is not null
            and retry_ended_at is null and not is_given_up as is_waiting
    from judged
)

select
    attempt_id,
    process_id,
    seller_id,
    via,
    started_at,
    finished_at,
    ordered_at,
    timeout_at,
    status,
    error,
    outcome,
    outcome_at,
    retry_after_at,
    payload_type,
    payload_sha256,
    start_seq,
    finish_seq,
    attempt_number,
    try_number,
    attempt_of_try,
    is_last,
    retry_ended_at,
    failures,
    failing_since,
    was_given_up,
    is_given_up,
    case when is_retryable then gives_up_at end as gives_up_at,
    is_waiting and not is_refused as is_retry_pending,
    is_waiting and is_refused as is_held,
    case
        when is_waiting and not is_refused
            then greatest(
                in_calendar(
                    outcome_at
                    + to_microseconds(retry_pause(attempt_of_try, retry_spread(attempt_id)))
                ),
                retry_after_at
            )
    end as retry_due_at
from waiting
