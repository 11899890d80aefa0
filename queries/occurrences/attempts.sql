-- One row per submission attempt known at as_of: its start and its finish, each counted once.
-- A finish whose start is missing is an attempt too (rules.md section 3).
-- reads: clock, facts.attempt_starts, facts.attempt_finishes
-- key: attempt_id
-- column: attempt_id | our id of the attempt
-- column: process_id | the review process it was for
-- column: seller_id | the seller it was for, where the entries name one
-- column: via | how it came in: cli, api, gateway or ingested
-- column: started_at | just before the request was sent
-- column: finished_at | the answer, the timeout or the failure; null while open
-- column: ordered_at | what orders attempts: the start, else the finish
-- column: status | HTTP status of the answer
-- column: error | timeout, network_error or refused, where there was no answer
-- column: outcome | what became of it (rules.md section 3)
-- column: retry_after_at | not to be sent again before this, where the platform said so
-- column: payload_type | `type` in the payload
-- column: payload_sha256 | digest of the payload's bytes: the same for the retries of one try
-- column: start_seq | the entry of the start
-- column: finish_seq | the entry of the finish

with starts as (
    select *
    from facts.attempt_starts
    where occurred_at <= (select as_of from clock)
    qualify row_number() over (
        partition by attempt_id
        order by occurred_at, body_sha256, process_id, seller_id, seq
    ) = 1
),

finishes as (
    select *
    from facts.attempt_finishes
    where occurred_at <= (select as_of from clock)
    qualify row_number() over (
        partition by attempt_id
        order by occurred_at, body_sha256, status, error, process_id, seller_id, seq
    ) = 1
)

select
    coalesce(starts.attempt_id, finishes.attempt_id) as attempt_id,
    coalesce(starts.process_id, finishes.process_id) as process_id,
    coalesce(starts.seller_id, finishes.seller_id) as seller_id,
    starts.via,
    starts.occurred_at as started_at,
    finishes.occurred_at as finished_at,
    coalesce(starts.occurred_at, finishes.occurred_at) as ordered_at,
    finishes.status,
    finishes.error,
    case
        when finishes.status = 200 then 'accepted'
        when finishes.status = 400 then 'invalid_payload'
        when finishes.status = 401 then 'unauthorized'
        when finishes.status = 404 then 'not_found'
        when finishes.status = 409 then 'conflict'
        when finishes.status = 429 then 'rate_limited'
        when finishes.status between 500 and 599 then 'platform_error'
        when finishes.status is not null then 'unexpected_status'
        when finishes.error in ('timeout', 'network_error', 'refused') then finishes.error
        when finishes.attempt_id is not null then 'unknown'
        when (select as_of from clock) < starts.occurred_at
            + to_microseconds(cast(round(coalesce(starts.timeout_seconds, 60) * 1e6) as bigint))
            then 'in_flight'
        else 'unknown'
    end as outcome,
    finishes.retry_after_at,
    starts.payload_type,
    starts.body_sha256 as payload_sha256,
    starts.seq as start_seq,
    finishes.seq as finish_seq
from starts
full join finishes on finishes.attempt_id = starts.attempt_id
