-- One row per override of a gate, which needs a reason and a name: override.
-- reads: interventions
-- key: seq
-- column: rule | the broken rule (docs/rules.md#findings)
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about, where the rule knows; views over it add the process's
-- column: seq | the entry that shows it
-- column: detail | what exactly; empty where the rule says it all
-- column: found_at | when it became true

select
    'override' as rule,
    'notice' as severity,
    process_id,
    seller_id,
    seq,
    '' as detail,
    occurred_at as found_at
from interventions
where kind = 'override'
