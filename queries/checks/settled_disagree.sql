-- One row per instant or number that says how far materialized rows go, and that the log gives otherwise:
-- which of these rows are read, and which the other checks compare, hangs on it.
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
        -- Of an empty log it is -infinity, which DuckDB's statistics do not know: `max` of a file gives an
        -- instant of 290309 BC.
        any_value(settled_at) as settled_at
    from kept_watermark
),

covered as (
    select
        count(*) as entries,
        coalesce(max(occurred_at), timestamp '-infinity') as settled_at
    from log
    where seq <= (select entries from marks)
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
    cast(settled.settled_at as varchar)
from kept_processes as stored
full join settled_processes as settled using (process_id)
where stored.settled_at is distinct from settled.settled_at
    and (select materialized_entries = entries from marks)
