-- One row per broken rule and subject (rules.md section 6), the gravest first, then the newest.
-- They hold for overridden and ingested attempts too.
-- reads: process_facts, settled_findings, deadline_findings, attempt_findings, reused_evidence_findings, delivery_findings, new_code_findings, override_findings
-- key: rule, seq, detail
-- column: rule | the broken rule
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about; null where it is about none
-- column: seq | the entry that shows it
-- column: detail | what exactly: a path, an id, a code, a reason; empty where the rule says it all
-- column: found_at | when it became true

with loose as (
    from attempt_findings
    union all
    from reused_evidence_findings
    union all
    from delivery_findings
    union all
    from new_code_findings
    union all
    from override_findings
)

from (
    from settled_findings
    union all
    from deadline_findings
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
order by
    case severity when 'breach' then 1 when 'risk' then 2 else 3 end,
    found_at desc, rule, seq, detail
