-- One row per process whose last attempt leaves its outcome open (outcome_unknown), and per try that was
-- given up (retries_exhausted).
-- reads: process_facts, clocked_attempts
-- key: rule, seq
-- column: rule | the broken rule (docs/rules.md#findings)
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about
-- column: seller_id | the seller it is about, where the rule knows; views over it add the process's
-- column: seq | the entry that shows it
-- column: detail | what exactly; empty where the rule says it all
-- column: found_at | when it became true

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
