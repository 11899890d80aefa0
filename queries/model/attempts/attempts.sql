-- One row per submission attempt known at as_of: its start and its finish, each counted once.
-- A finish whose start is missing is an attempt too (docs/rules.md#submission-attempts).
-- key: attempt_id
-- column: attempt_id | our id of the attempt
-- column: process_id | the platform's id of the review process
-- column: seller_id | the seller it was for, where the entries name one
-- column: via | text | how it came in: cli, api, gateway or ingested; null where its start is lost
-- column: started_at | just before the request was sent; null where the start is lost
-- column: finished_at | the answer, the timeout or the failure; null while open
-- column: ordered_at | what orders attempts: the start, else the finish
-- column: timeout_at | when an answer would have been too late; null where the start is lost
-- column: status | HTTP status of the answer
-- column: error | timeout, tls_refused, network_error or refused, where there was no answer
-- column: outcome | word | what became of an attempt: accepted, invalid_payload, unauthorized, not_found, conflict, rate_limited, platform_error, unexpected_status, timeout, tls_refused, network_error, in_flight, unknown or refused (docs/rules.md#outcomes)
-- column: outcome_at | when that came to be: the finish, else the end of the timeout
-- column: is_retryable | an outcome after which the same payload is sent again
-- column: retry_after_at | not to be sent again before this, where the platform said so
-- column: payload_type | text | `type` in the payload
-- column: has_payload | its body is a JSON object
-- column: payload_sha256 | digest of the payload's bytes: the same for the retries of one try; null where they are lost
-- column: start_seq | the entry of the start; null where it is lost
-- column: finish_seq | the entry of the finish; null while there is none

with starts as (
    select
        *,
        in_calendar(
            occurred_at
            + to_microseconds(cast(round(coalesce(timeout_seconds, 60) * 1e6) as bigint))
        ) as timeout_at
    from fact_attempt_starts
    anti join superseded_submissions using (seq)
    where occurred_at <= as_of()
),

finishes as (
    select *
    from fact_attempt_finishes
    anti join superseded_submissions using (seq)
    where occurred_at <= as_of()
),

known as (
    select
        coalesce(starts.attempt_id, finishes.attempt_id) as attempt_id,
        coalesce(starts.process_id, finishes.process_id) as process_id,
        coalesce(starts.seller_id, finishes.seller_id) as seller_id,
        starts.via,
        starts.occurred_at as started_at,
        finishes.occurred_at as finished_at,
        coalesce(starts.occurred_at, finishes.occurred_at) as ordered_at,
        starts.timeout_at,
        finishes.status,
        finishes.error,
        case
            when finishes.attempt_id is not null
                then outcome_of(finishes.status, finishes.error)
            when as_of() < starts.timeout_at then 'in_flight'
            else 'unknown'
        end as outcome,
        coalesce(finishes.occurred_at, starts.timeout_at) as outcome_at,
        finishes.retry_after_at,
        starts.payload_type,
        coalesce(starts.is_object, false) as has_payload,
        case when starts.body_size is not null then starts.body_sha256 end as payload_sha256,
        starts.seq as start_seq,
        finishes.seq as finish_seq
    from starts
    full join finishes on finishes.attempt_id = starts.attempt_id
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
    is_retryable(outcome) as is_retryable,
    retry_after_at,
    payload_type,
    has_payload,
    payload_sha256,
    start_seq,
    finish_seq
from known
