-- One row per submission attempt, newest first, refusals included (docs/rules.md#submission-attempts).
-- Attempts of a process are numbered by their start; a refusal was never sent and has no number.
-- open to: analysts
-- reads: clocked_attempts
-- key: attempt_id
-- order: ordered_at desc
-- order: attempt_id
-- by: process_id, seller_id
-- column: attempt_id | our id of the attempt
-- column: process_id | the review process it was for
-- column: seller_id | the seller it was for, where the entries name one
-- column: via | text | how it came in: cli, api, gateway or ingested; null where its start is lost
-- column: attempt_number | its place among the attempts of the process, from 1; null for a refusal
-- column: try_number | which try it belongs to, from 1: one payload and its retries; null for a refusal
-- column: attempt_of_try | its place in the try, from 1; null for a refusal
-- column: started_at | just before the request was sent; null where the start is lost
-- column: finished_at | the answer, the timeout or the failure; null while open
-- column: duration_ms | from start to finish, in milliseconds; null where either is missing
-- column: timeout_at | when an answer would have been too late; null where the start is lost
-- column: status | HTTP status of the answer
-- column: error | text | timeout, tls_refused, network_error or refused, where there was no answer; in words of another system masked, but for those that say what failed
-- column: outcome | word | accepted, invalid_payload, unauthorized, not_found, conflict, rate_limited, platform_error, unexpected_status, timeout, tls_refused, network_error, in_flight, unknown or refused
-- column: retry_after_at | not to be sent again before this, where the platform said so
-- column: is_retry_pending | the same payload is to be sent again, once it is due
-- column: is_held | it would be sent again, but our rules now refuse it: a person has to decide
-- column: retry_due_at | not before this; null unless pending
-- column: gives_up_at | when a retry is no longer tried; null after an outcome that is not retried
-- column: is_given_up | 24 hours or 30 attempts were over with the retry still wanted
-- column: payload_type | text | `type` in the payload
-- column: payload_sha256 | secret | digest of the payload's bytes, hex: the same within a try; null where they are lost; masked
-- column: start_seq | the entry of the start; null where it is lost
-- column: finish_seq | the entry of the finish; null while there is none

select
    attempt_id,
    process_id,
    seller_id,
    via,
    attempt_number,
    try_number,
    attempt_of_try,
    started_at,
    finished_at,
    (epoch_us(finished_at) - epoch_us(started_at)) / 1e3 as duration_ms,
    timeout_at,
    status,
    personal(error, mask_error(error)) as error,
    outcome,
    retry_after_at,
    is_retry_pending,
    is_held,
    retry_due_at,
    gives_up_at,
    is_given_up,
    payload_type,
    lower(hex(payload_sha256)) as payload_sha256,
    start_seq,
    finish_seq
from clocked_attempts
