-- One row per attempt that was answered while nothing says what was sent: attempt_without_start.
-- reads: attempts
-- key: seq
-- column: rule | the broken rule (docs/rules.md#findings)
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about, where the rule knows; views over it add the process's
-- column: seq | the entry that shows it
-- column: detail | what exactly; empty where the rule says it all
-- column: found_at | when it became true

select
    'attempt_without_start' as rule,
    'risk' as severity,
    process_id,
    null as seller_id,
    finish_seq as seq,
    attempt_id as detail,
    finished_at as found_at
from attempts
where status is not null and payload_sha256 is null
