-- One row per instant or number that says how far materialized rows go, and that the log gives otherwise:
-- which of these rows are read, and which the other checks compare, hangs on it.
-- reads: log, attempt_occurrences, facts.reviews, facts.collections, facts.actions, materialized.watermark, materialized.processes
-- key: what, process_id
-- column: what | entries, of the watermark, or settled_at, of the watermark or of a process
-- column: process_id | the process; empty for the watermark
-- column: found | as the materialized rows say it
-- column: expected | as the log says it

with marks as (
    select
        count(*) as rows,
        max(entries) as entries,
        max(materialized_entries) as materialized_entries,
        max(settled_at) as settled_at
    from materialized.watermark
),

covered as (
    select
        count(*) as entries,
        coalesce(max(occurred_at), timestamp '-infinity') as settled_at
    from log
    where seq <= (select entries from marks)
),

occurrences as (
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
    'entries' as what,
    '' as process_id,
    concat_ws(' ', marks.rows, marks.entries, marks.materialized_entries) as found,
    concat_ws(' ', 1, covered.entries, least(marks.materialized_entries, covered.entries)) as expected
from marks, covered
where found <> expected
union all
select 'settled_at', '', cast(marks.settled_at as varchar), cast(covered.settled_at as varchar)
from marks, covered
where marks.settled_at is distinct from covered.settled_at
union all
select
    'settled_at',
    process_id,
    cast(stored.settled_at as varchar),
    cast(spans.settled_at as varchar)
from materialized.processes as stored
full join spans using (process_id)
where stored.settled_at is distinct from spans.settled_at
    and (select materialized_entries = entries from marks)
