-- One row per unfinished review process, what can still be saved first (docs/rules.md#queues), with what to do next
-- and who sees to it.
-- key: process_id
-- order: savable_order(deadline_at, as_of()) nulls last, unfinished_work.process_id
-- by: process_id, seller_id

select
    unfinished_work.*,
    assignee
from unfinished_work
left join assignments on assignments.process_id = unfinished_work.process_id
