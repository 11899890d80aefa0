-- One row per rule that a process breaks by its own entries, whatever the clock says (docs/rules.md#findings).
-- Materialized in `materialized.findings`, as they are at the end of time.
-- reads: process_facts, report_findings, finish_findings, lost_start_findings, changed_payload_findings, payload_findings, evidence_findings, late_evidence_findings
-- key: rule, seq, detail
-- column: rule | the broken rule
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about
-- column: seller_id | the seller it is about: the process's
-- column: seq | the entry that shows it
-- column: detail | what exactly: a path, an id, a code, a reason; empty where the rule says it all
-- column: found_at | when it became true

with found as (
    from report_findings
    union all
    from finish_findings
    union all
    from lost_start_findings
    union all
    from changed_payload_findings
    union all
    from payload_findings
    union all
    from evidence_findings
    union all
    from late_evidence_findings
)

select
    found.rule,
    found.severity,
    found.process_id,
    process_facts.seller_id,
    found.seq,
    found.detail,
    found.found_at
from found
join process_facts on process_facts.process_id = found.process_id
