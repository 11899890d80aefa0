-- One row per UTC day on which a process that is unfinished at as_of has its deadline.
-- Late ones are included; days without any are absent.
-- open to: analysts
-- key: day
-- column: day | UTC day of the deadline
-- column: due | unfinished processes due that day
-- column: due_acp | those of type ACP
-- column: due_aci | those of type ACI

select
    cast(deadline_at as date) as day,
    count(*) as due,
    count(*) filter (where review_type = 'ACP') as due_acp,
    count(*) filter (where review_type = 'ACI') as due_aci
from clocked_processes
where state in ('PENDING', 'OVERDUE', 'EXPIRED')
group by day
