-- One row per unfinished review process, worst first, with what to do next and who sees to it.
-- reads: unfinished_work, assignments
-- key: process_id
-- order: state
-- order: deadline_at nulls last
-- order: unfinished_work.process_id
-- by: process_id, seller_id
-- column: * | unfinished_work
-- column: assignee | staff | who sees to it; null where nobody is assigned

select
    unfinished_work.*,
    assignee
from unfinished_work
left join assignments on assignments.process_id = unfinished_work.process_id
