-- One row per rule that a process breaks by its own entries, whatever the clock says (docs/rules.md#findings).
-- Materialized in `kept_findings`, as they are at the end of time.
-- in: settled_findings
-- key: rule, seq, detail

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
