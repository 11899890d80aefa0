-- One row per submission attempt, newest first, refusals included (docs/rules.md#submission-attempts).
-- Attempts of a process are numbered by their start; a refusal was never sent and has no number.
-- open to: analysts
-- key: attempt_id
-- order: ordered_at desc, attempt_id
-- by: process_id, seller_id
-- column: duration_ms | from start to finish, in milliseconds; null where either is missing
-- column: error | text | timeout, tls_refused, network_error or refused, where there was no answer; in words of another system masked, but for those that say what failed
-- column: payload_sha256 | secret | digest of the payload's bytes, hex: the same within a try; null where they are lost; masked

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
