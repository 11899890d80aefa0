-- One row per process that was finished at its deadline or after it: finished_late.
-- in: process_findings
-- key: process_id
--
-- rule: finished_late
-- place: 20
-- severity: breach
-- name: Finished late
-- fault: seller
-- remedy: Keep the evidence of why, and look for what delayed it.

with late as (
    select process_id, seller_id, finished_at, finished_by
    from suspected_processes
    where is_finished_late
),

answers as (
    select
        process_id,
        arg_min(finish_seq, struct_pack(finished_at, ordered_at, attempt_id)) as seq
    from attempts
    where outcome = 'accepted'
    group by process_id
),

reports as (
    select
        process_id,
        arg_min(seq, struct_pack(created_at, occurred_at, event_id, content_sha256)) as seq
    from review_events
    where status = 'FINISHED'
    group by process_id
)

select
    'finished_late' as rule,
    'breach' as severity,
    late.process_id,
    seller_id,
    case finished_by when 'submission' then answers.seq else reports.seq end as seq,
    '' as detail,
    finished_at as found_at
from late
left join answers on answers.process_id = late.process_id
left join reports on reports.process_id = late.process_id
