-- One row per finding that no clock moves and that the entries of a process, or of its seller's processes,
-- decide (docs/rules.md#findings). Materialized in `kept_findings`, as they are at the end of time.
-- in: findings, alarming_findings
-- key: rule, seq, detail

from found
