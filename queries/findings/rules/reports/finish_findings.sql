-- One row per process that was finished at its deadline or after it: finished_late.
-- reads: suspected_processes, attempts, review_events
-- key: process_id
-- column: rule | the broken rule (docs/rules.md#findings)
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about, where the rule knows; views over it add the process's
-- column: seq | the entry that shows it
-- column: detail | what exactly; empty where the rule says it all
-- column: found_at | when it became true

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
