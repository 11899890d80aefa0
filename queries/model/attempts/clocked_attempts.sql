-- One row per submission attempt, refusals included, with what comes next by the clock
-- (docs/rules.md#tries-and-retries).
-- reads: attempt_facts
-- key: attempt_id
-- column: attempt_id | our id of the attempt
-- column: process_id | the review process it was for
-- column: seller_id | the seller it was for, where the entries name one
-- column: via | how it came in: cli, api, gateway or ingested
-- column: started_at | just before the request was sent
-- column: finished_at | the answer, the timeout or the failure; null while open
-- column: ordered_at | what orders attempts: the start, else the finish
-- column: timeout_at | when an answer would have been too late; null where the start is lost
-- column: status | HTTP status of the answer
-- column: error | timeout, tls_refused, network_error or refused, where there was no answer
-- column: outcome | what became of it
-- column: outcome_at | when that came to be: the finish, else the end of the timeout
-- column: retry_after_at | not to be sent again before this, where the platform said so
-- column: payload_type | `type` in the payload
-- column: payload_sha256 | digest of the payload's bytes; null where they are lost
-- column: start_seq | the entry of the start
-- column: finish_seq | the entry of the finish
-- column: attempt_number | its place among the attempts of the process, from 1; null for a refusal
-- column: try_number | the place of its try among those of the process, from 1; null for a refusal
-- column: attempt_of_try | its place in the try, from 1; null for a refusal
-- column: is_last | no attempt of the process comes after it; null for a refusal
-- column: retry_ended_at | when a retry was no longer wanted; null while wanted, and for a refusal
-- column: failures | how many attempts of the try in a row ended as platform_error, up to this one; 0 where it did not, null for a refusal
-- column: failing_since | when the first of these started
-- column: was_given_up | an attempt before it in its try was given up
-- column: is_given_up | 24 hours or 30 attempts were over with the retry still wanted
-- column: gives_up_at | when they are over; null after an outcome that is not retried
-- column: is_retry_pending | the same payload is to be sent again, once it is due
-- column: is_held | it would be sent again, but our rules now refuse it: a person has to decide
-- column: retry_due_at | not before this: the wait doubles from 1 s to 15 min, a fifth longer or shorter, and Retry-After counts; null unless pending

with judged as (
    select
        *,
        was_retry_given_up(is_retryable, gives_up_at, retry_ended_at) as is_given_up
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
