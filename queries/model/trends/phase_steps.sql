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

moments as (
    select process_id, 'contact' as step, contacted_at as came_at
    from contacts
    where withdrawn_at is null
    union all
    select process_id, step, occurred_at as came_at
    from fact_collections
    where occurred_at <= as_of()
        and source = 'seller'
        and step in ('opened', 'answered', 'confirmed')
    union all
    select process_id, 'sent' as step, started_at as came_at
    from attempts
    where outcome <> 'refused'
),

firsts as (
    select moments.process_id, step, min(came_at) as came_at
    from moments
    join finished
        on finished.process_id = moments.process_id and came_at between opened_at and finished_at
    group by moments.process_id, step
    union all
    select process_id, 'finished' as step, finished_at as came_at
    from finished
)

select
    firsts.process_id,
    review_type,
    finished_at,
    step,
    epoch_us(came_at) - epoch_us(opened_at) as microseconds
from firsts
join finished on finished.process_id = firsts.process_id
