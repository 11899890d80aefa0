-- One row per open review process that was never assigned to anybody, what can still be saved first: the rule of
-- assignment gives each to somebody (docs/operations.md#assignment-by-rule). One that a person gave back to nobody is not
-- among them.
-- key: process_id
-- order: savable_order(deadline_at, as_of()) nulls last, unfinished_states.process_id

select
    unfinished_states.process_id,
    unfinished_states.seller_id,
    review_type,
    deadline_at
from unfinished_states
left join assignments on assignments.process_id = unfinished_states.process_id
where state <> 'UNKNOWN'
    and assignments.process_id is null
