-- The rows of `materialized.processes`. Of a process whose every entry belongs to another one
-- after all (an attempt recorded again with another process, say) a row stays that is not `is_known`: at
-- some instant the log knew it.
-- reads: process_facts, attempt_occurrences, facts.reviews, facts.collections, facts.actions
-- column: settled_at | the latest occurrence that says anything about the process
-- column: is_known | whether an entry of its own counts

with occurrences as (
    select process_id, occurred_at from facts.reviews
    union all
    select process_id, occurred_at from facts.collections
    union all
    select process_id, occurred_at
    from facts.actions
    where kind in ('reminded', 'ticket') and process_id is not null
    union all
    select process_id, occurred_at from attempt_occurrences
),

spans as (
    select process_id, max(occurred_at) as settled_at
    from occurrences
    group by process_id
)

select
    spans.process_id,
    spans.settled_at,
    known.process_id is not null as is_known,
    known.* exclude (process_id)
from spans
left join process_facts as known on known.process_id = spans.process_id
