-- One row per process whose last attempt leaves its outcome open (outcome_unknown), per try that was given
-- up (retries_exhausted), and one each where the platform refuses our credentials (unauthorized) or our
-- certificate, or we refuse its (tls_refused): about no process, since it concerns them all.
-- reads: process_facts, tries
-- key: rule, seq
-- column: rule | the broken rule (docs/rules.md#findings)
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about, where the rule knows; views over it add the process's
-- column: seq | the entry that shows it
-- column: detail | what exactly; empty where the rule says it all
-- column: found_at | when it became true

with exhausted as (
    select
        process_id,
        min(struct_pack(attempt_number, attempt_id, start_seq, finish_seq, gives_up_at)) as first
    from tries
    where is_given_up
    group by process_id, try_number
),

rejected as (
    -- Whatever else the platform answers later, on any process, clears them.
    select outcome, attempt_id, finished_at, finish_seq
    from tries
    where outcome in ('unauthorized', 'tls_refused')
        and finished_at >= coalesce(
            case outcome
                when 'unauthorized'
                    then (select max(finished_at) from tries where status <> 401)
                else (select max(finished_at) from tries where status is not null)
            end,
            finished_at
        )
)

select
    'outcome_unknown' as rule,
    'risk' as severity,
    tries.process_id,
    process_facts.seller_id,
    coalesce(tries.finish_seq, tries.start_seq) as seq,
    '' as detail,
    tries.outcome_at as found_at
from tries
join process_facts on process_facts.process_id = tries.process_id
where tries.is_last
    and tries.outcome in ('unknown', 'conflict')
    and process_facts.finished_at is null
union all
select
    'retries_exhausted' as rule,
    'risk' as severity,
    process_id,
    null as seller_id,
    coalesce(first.finish_seq, first.start_seq) as seq,
    first.attempt_id as detail,
    first.gives_up_at as found_at
from exhausted
union all
select
    outcome as rule,
    'risk' as severity,
    null as process_id,
    null as seller_id,
    arg_min(finish_seq, struct_pack(finished_at, attempt_id)) as seq,
    '' as detail,
    min(finished_at) as found_at
from rejected
group by outcome
