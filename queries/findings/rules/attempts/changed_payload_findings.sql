-- One row per attempt that sent other bytes although the attempt before was to be repeated, and nobody
-- had allowed another payload: payload_changed_on_retry.
-- in: sent_findings
-- key: seq
--
-- rule: payload_changed_on_retry
-- place: 140
-- severity: risk
-- name: Payload changed on retry
-- means: The platform can process both payloads: a retry resends the same bytes.
-- remedy: Find out which of them the platform took.

with changed as (
    select
        attempts.process_id,
        attempts.attempt_id,
        attempts.started_at,
        attempts.start_seq,
        previous.started_at as previous_started_at
    from attempt_facts as attempts
    join attempt_facts as previous on previous.attempt_id = attempts.previous_attempt_id
    where attempts.payload_sha256 <> previous.payload_sha256
        -- What the outcome was when the other payload was sent: an answer may have come later.
        and case
            when previous.finished_at <= attempts.started_at then previous.is_retryable
            else previous.timeout_at <= attempts.started_at
        end
)

select
    'payload_changed_on_retry' as rule,
    'risk' as severity,
    changed.process_id,
    null as seller_id,
    changed.start_seq as seq,
    changed.attempt_id as detail,
    changed.started_at as found_at
from changed
anti join interventions
    on interventions.process_id = changed.process_id
    and interventions.kind = 'replacement'
    -- One at the instant of the start before allowed that one's payload.
    and interventions.occurred_at > changed.previous_started_at
    and interventions.occurred_at <= changed.started_at
