-- One row each where the platform refuses our credentials (unauthorized), or our certificate, or we refuse
-- its (tls_refused): about no process, since it concerns them all.
-- reads: attempt_facts
-- key: rule
-- column: rule | the broken rule (docs/rules.md#findings)
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about, where the rule knows; views over it add the process's
-- column: seq | the entry that shows it
-- column: detail | what exactly; empty where the rule says it all
-- column: found_at | when it became true

with rejected as (
    -- Whatever else the platform answers later, on any process, clears them.
    select outcome, attempt_id, finished_at, finish_seq
    from attempt_facts
    where outcome in ('unauthorized', 'tls_refused')
        and finished_at >= coalesce(
            case outcome
                when 'unauthorized'
                    then (select max(finished_at) from attempt_facts where status <> 401)
                else (select max(finished_at) from attempt_facts where status is not null)
            end,
            finished_at
        )
)

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
