-- One row per review process and step that it came to: when the first one was, from its opening on
-- (docs/rules.md#over-time).
-- key: process_id, step
-- column: step | text | contact, opened, answered, confirmed or sent
-- column: came_at | when

with moments as (
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
)

select moments.process_id, step, min(came_at) as came_at
from moments
join process_facts on process_facts.process_id = moments.process_id and came_at >= opened_at
group by moments.process_id, step
