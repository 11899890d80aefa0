-- One row per process that the clock makes a finding: expired_unfinished, and overdue_unstarted after
-- 24 hours in which no journey was opened.
-- reads: process_facts
-- key: rule, process_id
-- column: rule | the broken rule (docs/rules.md#findings)
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about, where the rule knows; views over it add the process's
-- column: seq | the entry that shows it
-- column: detail | what exactly; empty where the rule says it all
-- column: found_at | when it became true

with late as (
    select *
    from process_facts
    -- A deadline before the opening comes before the process is overdue.
    where finished_at is null and (overdue_from <= as_of() or expired_from <= as_of())
)

select
    'expired_unfinished' as rule,
    'breach' as severity,
    process_id,
    seller_id,
    expired_found_seq as seq,
    '' as detail,
    expired_found_at as found_at
from late
where expired_from <= as_of()
union all
select
    'overdue_unstarted' as rule,
    'risk' as severity,
    process_id,
    seller_id,
    overdue_found_seq as seq,
    '' as detail,
    overdue_found_at + interval 24 hour as found_at
from late
where expired_from > as_of()
    and journey_opened_at is null
    and overdue_found_at + interval 24 hour <= as_of()
