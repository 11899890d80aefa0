-- One row per override of a gate, which needs a reason and a name: override.
-- in: other_findings
-- key: seq
--
-- rule: override
-- place: 330
-- severity: notice
-- name: Rule overridden
-- means: Somebody sent it all the same and gave a reason and a name; an auditor will ask for both.
-- remedy: Make sure that the reason holds.

select
    'override' as rule,
    'notice' as severity,
    process_id,
    seller_id,
    seq,
    '' as detail,
    occurred_at as found_at
from interventions
where kind = 'override'
