-- One row per broken rule, the gravest and most frequent first.
-- open to: analysts
-- key: rule, severity
-- order: case severity when 'breach' then 1 when 'risk' then 2 else 3 end, findings desc, rule
-- column: findings | how many
-- column: processes | processes they are about
-- column: latest_at | when the newest became true

select
    rule,
    severity,
    count(*) as findings,
    count(distinct process_id) as processes,
    max(found_at) as latest_at
from findings
group by rule, severity
