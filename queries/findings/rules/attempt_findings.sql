-- One row per process whose last attempt leaves its outcome open (outcome_unknown), and one where
-- the platform does not know our credentials (unauthorized: one row, about no process).
-- reads: process_state, attempts
-- key: rule, seq
-- column: rule | the broken rule (rules.md section 6)
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about, where the rule knows; `findings` adds the process's
-- column: seq | the entry that shows it
-- column: detail | what exactly; empty where the rule says it all
-- column: found_at | when it became true

with last_attempts as (
    select
        process_id,
        arg_max(
            struct_pack(outcome, outcome_at, seq := coalesce(finish_seq, start_seq)),
            struct_pack(ordered_at, attempt_id)
        ) as last
    from attempts
    where outcome <> 'refused'
    group by process_id
),

refusals as (
    select attempt_id, finished_at, finish_seq
    from attempts
    where outcome = 'unauthorized'
        and finished_at >= coalesce(
            (select max(finished_at) from attempts where outcome = 'accepted'),
            finished_at
        )
)

select
    'outcome_unknown' as rule,
    'risk' as severity,
    last_attempts.process_id,
    process_state.seller_id,
    last.seq as seq,
    '' as detail,
    last.outcome_at as found_at
from last_attempts
join process_state on process_state.process_id = last_attempts.process_id
where last.outcome in ('unknown', 'conflict') and process_state.finished_at is null
union all
select
    'unauthorized' as rule,
    'risk' as severity,
    null as process_id,
    null as seller_id,
    arg_min(finish_seq, struct_pack(finished_at, attempt_id)) as seq,
    '' as detail,
    min(finished_at) as found_at
from refusals
having count(*) > 0
