-- One row per finding that no clock moves and that the entries of a process, or of its seller's processes,
-- decide (docs/rules.md#findings). Materialized in `materialized.findings`, as they are at the end of time.
-- reads: process_findings, reused_value_findings
-- materialized: findings
-- settled: (select settled_at <= as_of() from materialized.watermark)
-- key: rule, seq, detail
-- column: rule | the broken rule
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about
-- column: seller_id | the seller it is about
-- column: seq | the entry that shows it
-- column: detail | what exactly: a path, an id, a code, a reason; empty where the rule says it all
-- column: found_at | when it became true

from process_findings
union all
from reused_value_findings
