-- One row per review process that somebody was assigned to: the latest assignment by as_of.
-- key: process_id
-- by: process_id

select process_id, assignee, assigned_at, actor, reason, seq
from said_assignments
qualify row_number() over (partition by process_id order by assigned_at desc, seq desc) = 1
