-- One row per broken rule and subject (rules.md section 6), the gravest first, then the newest.
-- They hold for overridden and ingested attempts too.
-- reads: process_state, deadline_findings, report_findings, finish_findings, attempt_findings, try_findings, payload_findings, evidence_findings, late_evidence_findings, reused_evidence_findings, reused_value_findings, delivery_findings, new_code_findings, override_findings
-- key: rule, seq, detail
-- column: rule | the broken rule
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about; null where it is about none
-- column: seq | the entry that shows it
-- column: detail | what exactly: a path, an id, a code, a reason; empty where the rule says it all
-- column: found_at | when it became true

with found as (
    from deadline_findings
    union all
    from report_findings
    union all
    from finish_findings
    union all
    from attempt_findings
    union all
    from try_findings
    union all
    from payload_findings
    union all
    from evidence_findings
    union all
    from late_evidence_findings
    union all
    from reused_evidence_findings
    union all
    from reused_value_findings
    union all
    from delivery_findings
    union all
    from new_code_findings
    union all
    from override_findings
)

select
    found.rule,
    found.severity,
    found.process_id,
    coalesce(process_state.seller_id, found.seller_id) as seller_id,
    found.seq,
    found.detail,
    found.found_at
from found
left join process_state on process_state.process_id = found.process_id
order by
    case found.severity when 'breach' then 1 when 'risk' then 2 else 3 end,
    found.found_at desc, found.rule, found.seq, found.detail
