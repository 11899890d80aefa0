-- One row per process that was finished late or by nothing we sent: finished_late and
-- finished_elsewhere (a lost answer, a submission outside the log, or a forged event).
-- reads: process_facts, attempts, review_events
-- key: rule, process_id
-- column: rule | the broken rule (rules.md section 6)
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about, where the rule knows; views over it add the process's
-- column: seq | the entry that shows it
-- column: detail | what exactly; empty where the rule says it all
-- column: found_at | when it became true

with finished as (
    select
        process_id,
        seller_id,
        finished_at,
        finished_by,
        coalesce(finished_at >= deadline_at, false) as finished_late
    from process_facts
    where finished_at >= deadline_at or finished_by = 'platform'
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
    select process_id, arg_min(seq, struct_pack(created_at, occurred_at, event_id)) as seq
    from review_events
    where status = 'FINISHED'
    group by process_id
),

shown as (
    select
        finished.*,
        answers.seq is not null as is_answered,
        case finished_by when 'submission' then answers.seq else reports.seq end as seq
    from finished
    left join answers on answers.process_id = finished.process_id
    left join reports on reports.process_id = finished.process_id
)

select
    'finished_late' as rule,
    'breach' as severity,
    process_id,
    seller_id,
    seq,
    '' as detail,
    finished_at as found_at
from shown
where finished_late
union all
select
    'finished_elsewhere' as rule,
    'breach' as severity,
    process_id,
    seller_id,
    seq,
    '' as detail,
    finished_at as found_at
from shown
where finished_by = 'platform' and not is_answered
