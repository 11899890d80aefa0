-- One row per finished review process and step that it came to: how long that took from its opening
-- (docs/rules.md#over-time).
-- key: process_id, step
-- column: finished_at | when it was finished
-- column: step | text | contact, opened, answered, confirmed, sent or finished
-- column: microseconds | from the opening to the first such step from then up to the finish

with finished as (
    select process_id, review_type, opened_at, finished_at
    from process_facts
    where finished_at >= opened_at
),

reached as (
    select process_id, step, came_at from first_steps
    union all
    select process_id, 'finished' as step, finished_at as came_at from finished
)

select
    reached.process_id,
    review_type,
    finished_at,
    step,
    epoch_us(came_at) - epoch_us(opened_at) as microseconds
from reached
join finished on finished.process_id = reached.process_id and came_at <= finished_at
