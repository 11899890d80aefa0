-- One row per process of which the log says anything: until when it does.
-- key: process_id
-- column: settled_at | the latest occurrence that says anything about it

with occurrences as (
    select process_id, occurred_at from fact_reviews
    union all
    select process_id, occurred_at from fact_collections
    union all
    select process_id, occurred_at
    from fact_actions
    where touches_process(kind) and process_id is not null
    union all
    -- What is said of a message without naming a process is said of each that it names.
    select notices.process_id, results.occurred_at
    from fact_notices as notices
    join fact_notice_results as results on results.message_id = notices.message_id
    where results.process_id is null
    union all
    select process_id, occurred_at from attempt_occurrences
)

select process_id, max(occurred_at) as settled_at
from occurrences
group by process_id
