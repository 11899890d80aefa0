-- One row per process whose last attempt leaves its outcome open (outcome_unknown), and per try that was
-- given up (retries_exhausted).
-- in: other_findings
-- key: rule, seq
--
-- rule: retries_exhausted
-- place: 150
-- severity: risk
-- name: Retries given up
-- means: The deadline keeps running while the platform fails.
-- remedy: Open a support ticket with the platform.
--
-- rule: outcome_unknown
-- place: 220
-- severity: risk
-- name: Outcome unknown
-- means: The platform may or may not have taken the submission.
-- remedy: Send the same payload again, or ask the platform for the status.

select
    'outcome_unknown' as rule,
    'risk' as severity,
    last_attempts.process_id,
    process_facts.seller_id,
    coalesce(last_attempts.finish_seq, last_attempts.start_seq) as seq,
    '' as detail,
    last_attempts.outcome_at as found_at
from clocked_attempts as last_attempts
join process_facts on process_facts.process_id = last_attempts.process_id
where last_attempts.is_last
    and last_attempts.outcome in ('unknown', 'conflict')
    and process_facts.finished_at is null
union all
select
    'retries_exhausted' as rule,
    'risk' as severity,
    process_id,
    null as seller_id,
    coalesce(finish_seq, start_seq) as seq,
    attempt_id as detail,
    gives_up_at as found_at
from clocked_attempts
where is_given_up and not was_given_up
