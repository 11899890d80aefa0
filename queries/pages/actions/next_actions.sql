-- One row per unfinished review process: the one thing to do next, by what was last tried and what
-- the seller has answered since the request (docs/contract.md#errors), and the queue in which it stands, what can
-- still be saved first (docs/rules.md#queues).
-- key: process_id
-- order: savable_order(deadline_at, as_of()) nulls last, process_id
-- by: process_id

select process_id, next_action, queue, fields_required, fields_answered
from unfinished_work
