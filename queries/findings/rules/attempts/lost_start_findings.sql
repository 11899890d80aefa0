-- One row per attempt that was answered while nothing says what was sent: attempt_without_start.
-- in: sent_findings
-- key: seq
--
-- rule: attempt_without_start
-- place: 50
-- severity: risk
-- name: Attempt answered, but its start is missing
-- means: Nothing in the log says what was sent, so nothing can be held against evidence.
-- remedy: Ingest the start of the attempt from the system that sent it.

select
    'attempt_without_start' as rule,
    'risk' as severity,
    process_id,
    null as seller_id,
    finish_seq as seq,
    attempt_id as detail,
    finished_at as found_at
from attempts
where status is not null and payload_sha256 is null
