-- One row per process that the platform reports as finished though no attempt of ours was answered
-- 200: answer_lost where one of ours may have done it, else finished_elsewhere (a submission outside
-- the log without evidence, or a forged event). Neither holds while one that may have is in flight.
-- in: findings, alarming_findings
-- key: process_id
--
-- rule: finished_elsewhere
-- place: 30
-- severity: breach
-- name: Finished without an accepted submission from us
-- means: Somebody submitted outside this log, or an event was forged. Evidence of the collection may be
--   missing.
-- remedy: Find out who submitted, and collect their evidence.
--
-- rule: answer_lost
-- place: 40
-- severity: risk
-- name: Finished, but the answer was lost
-- means: An attempt of ours got no clear answer before the platform reported the process as finished: it
--   probably did it, and the log lacks the 200 that proves it.
-- remedy: Send the same payload again: the platform's 200 completes the log.

with reported as (
    select process_id, seller_id, finished_at
    from process_facts
    -- What was answered 200 at last explains it, and is the rule: the others are few.
    where finished_by = 'platform' and last_outcome is distinct from 'accepted'
),

ours as (
    select
        reported.process_id,
        bool_or(outcome = 'accepted') as is_answered,
        bool_or(outcome = 'in_flight' and ordered_at < reported.finished_at) as is_under_way,
        bool_or(ordered_at < reported.finished_at and outcome in (
            'timeout', 'network_error', 'platform_error', 'unexpected_status', 'unknown'
        )) as may_have_done_it,
        max(outcome_at) filter (where ordered_at < reported.finished_at) as ended_at
    from reported
    join attempts on attempts.process_id = reported.process_id
    where outcome <> 'refused'
    group by reported.process_id
),

reports as (
    select
        process_id,
        arg_min(seq, struct_pack(created_at, occurred_at, event_id, content_sha256)) as seq
    from review_events
    where status = 'FINISHED' and process_id in (select process_id from reported)
    group by process_id
)

select
    case when may_have_done_it then 'answer_lost' else 'finished_elsewhere' end as rule,
    case when may_have_done_it then 'risk' else 'breach' end as severity,
    reported.process_id,
    seller_id,
    reports.seq,
    '' as detail,
    greatest(finished_at, ended_at) as found_at
from reported
join reports on reports.process_id = reported.process_id
left join ours on ours.process_id = reported.process_id
where not coalesce(is_answered or is_under_way, false)
