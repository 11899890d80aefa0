-- One row per process and field path that was sent without the seller's own, timely answer:
-- field_without_evidence, source_not_seller or evidence_before_request, whichever the first such
-- sending broke.
-- reads: sent_fields
-- key: process_id, detail
-- column: rule | the broken rule (docs/rules.md#findings)
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about, where the rule knows; views over it add the process's
-- column: seq | the entry that shows it
-- column: detail | what exactly; empty where the rule says it all
-- column: found_at | when it became true

select
    case
        when not is_same then 'field_without_evidence'
        when not is_seller then 'source_not_seller'
        else 'evidence_before_request'
    end as rule,
    'breach' as severity,
    process_id,
    null as seller_id,
    start_seq as seq,
    path as detail,
    started_at as found_at
from sent_fields
where not is_covered
qualify row_number() over (
    partition by process_id, path order by started_at, attempt_id
) = 1
