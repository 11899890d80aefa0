-- One row per submission attempt, newest first, refusals included (rules.md section 3). Attempts of
-- a process are numbered by their start; a refusal was never sent and has no number.
-- reads: attempts, tries
-- key: attempt_id
-- by: process_id, seller_id
-- column: attempt_id | our id of the attempt
-- column: process_id | the review process it was for
-- column: seller_id | the seller it was for, where the entries name one
-- column: via | how it came in: cli, api, gateway or ingested; null where its start is lost
-- column: attempt_number | its place among the attempts of the process, from 1; null for a refusal
-- column: try_number | which try it belongs to, from 1: one payload and its retries; null for a refusal
-- column: attempt_of_try | its place in the try, from 1; null for a refusal
-- column: started_at | just before the request was sent; null where the start is lost
-- column: finished_at | the answer, the timeout or the failure; null while open
-- column: duration_ms | from start to finish, in milliseconds; null where either is missing
-- column: timeout_at | when an answer would have been too late; null where the start is lost
-- column: status | HTTP status of the answer
-- column: error | timeout, network_error or refused, where there was no answer
-- column: outcome | accepted, invalid_payload, unauthorized, not_found, conflict, rate_limited, platform_error, unexpected_status, timeout, network_error, in_flight, unknown or refused
-- column: retry_after_at | not to be sent again before this, where the platform said so
-- column: is_retry_pending | the same payload is to be sent again, once it is due
-- column: is_held | it would be, but our rules refuse it by now: a person has to decide
-- column: retry_due_at | not before this, give or take a fifth of the wait; null unless pending
-- column: gives_up_at | when a retry is no longer tried; null after an outcome that is not retried
-- column: is_given_up | 24 hours or 30 attempts were over with the retry still wanted
-- column: payload_type | `type` in the payload
-- column: payload_sha256 | digest of the payload's bytes, hex: the same within a try; null where they are lost
-- column: start_seq | the entry of the start; null where it is lost
-- column: finish_seq | the entry of the finish; null while there is none

select
    attempts.attempt_id,
    attempts.process_id,
    attempts.seller_id,
    attempts.via,
    tries.attempt_number,
    tries.try_number,
    tries.attempt_of_try,
    attempts.started_at,
    attempts.finished_at,
    (epoch_us(attempts.finished_at) - epoch_us(attempts.started_at)) / 1e3 as duration_ms,
    attempts.timeout_at,
    attempts.status,
    attempts.error,
    attempts.outcome,
    attempts.retry_after_at,
    coalesce(tries.is_retry_pending, false) as is_retry_pending,
    coalesce(tries.is_held, false) as is_held,
    tries.retry_due_at,
    tries.gives_up_at,
    coalesce(tries.is_given_up, false) as is_given_up,
    attempts.payload_type,
    lower(hex(attempts.payload_sha256)) as payload_sha256,
    attempts.start_seq,
    attempts.finish_seq
from attempts
left join tries on tries.attempt_id = attempts.attempt_id
order by attempts.ordered_at desc, attempts.attempt_id
