-- One row per assignment of a review process by as_of.
-- key: seq
-- column: process_id | the platform's id of the review process
-- column: assignee | staff | who sees to the process; null where nobody is assigned
-- column: assigned_at | when that was said
-- column: actor | staff | who said it
-- column: reason | text | why
-- column: seq | the entry that says it

select
    process_id,
    content ->> '$.assignee' as assignee,
    occurred_at as assigned_at,
    actor,
    reason,
    seq
from fact_actions
where kind = 'assignment'
    and process_id is not null
    and occurred_at <= as_of()
