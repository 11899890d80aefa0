-- One row per finding, and side of the comparison, that is kept and not what the log says, or the other
-- way round. Nothing is compared while entries lie after as_of: a finding may rest on several processes.
-- reads: clock, settled_findings, kept.findings, kept.progress
-- key: rule, seq, detail, side
-- column: rule | the broken rule
-- column: seq | the entry that shows it
-- column: detail | what exactly
-- column: side | log or kept: which of the two has this row and the other has not

select rule, seq, detail, side
from (
    (select *, 'log' as side from (from settled_findings except all from kept.findings))
    union all
    (select *, 'kept' as side from (from kept.findings except all from settled_findings))
)
where (select kept = entries and settled_at <= (select as_of from clock) from kept.progress)
