-- One row per broken rule and subject (docs/rules.md#findings), the gravest first, then the newest.
-- They hold for overridden and ingested attempts too.
-- reads: process_facts, settled_findings, deadline_findings, unexplained_finish_findings, deletion_findings, altered_event_findings, attempt_findings, rejection_findings, reused_evidence_findings, delivery_findings, unreadable_part_findings, new_code_findings, override_findings, alert_findings
-- key: rule, seq, process_id, detail
-- order: case severity when 'breach' then 1 when 'risk' then 2 else 3 end
-- order: found_at desc
-- order: rule
-- order: seq
-- order: process_id
-- order: detail
-- column: rule | word | the broken rule
-- column: severity | word | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about; null where it is about none
-- column: seq | the entry that shows it
-- column: detail | text | what exactly: a path, an id, a code, a reason; empty where the rule says it all
-- column: found_at | when it became true

with loose as (
    from attempt_findings
    union all
    from rejection_findings
    union all
    from reused_evidence_findings
    union all
    from delivery_findings
    union all
    from unreadable_part_findings
    union all
    from new_code_findings
    union all
    from override_findings
    union all
    from alert_findings
)

from (
    from settled_findings
    union all
    from deadline_findings
    union all
    from unexplained_finish_findings
    union all
    from deletion_findings
    union all
    from altered_event_findings
    union all
    select
        loose.rule,
        loose.severity,
        loose.process_id,
        coalesce(process_facts.seller_id, loose.seller_id) as seller_id,
        loose.seq,
        loose.detail,
        loose.found_at
    from loose
    left join process_facts on process_facts.process_id = loose.process_id
)
