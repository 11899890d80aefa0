-- One row per unfinished review process: the one thing to do next, by what was last tried and what
-- the seller has answered since the request (docs/contract.md#errors). What begins with `await_` is
-- somebody else's turn: nothing is to be done.
-- key: process_id
-- by: process_id

select process_id, next_action, queue, fields_required, fields_answered
from unfinished_work
