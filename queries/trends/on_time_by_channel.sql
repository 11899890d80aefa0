-- One row per month of the deadline and channel: what became of the reviews that are finished or due, by
-- the channel by which their sellers were last contacted when they were, whichever was first (docs/rules.md#over-time).
-- open to: analysts
-- key: month, channel
-- order: month, channel nulls last
-- column: month | UTC month of the deadline, its first day
-- column: channel | text | of the last contact; null without one
-- column: ended | reviews that are finished or whose deadline has come
-- column: finished_in_time | those finished before their deadline
-- column: finished_late | those finished at it or after it
-- column: expired | those unfinished and EXPIRED
-- column: due_so_far | those whose deadline has come
-- column: on_time_share | of these, those finished in time; null over nothing

select
    cast(date_trunc('month', deadline_at) as date) as month,
    channel,
    count(*) as ended,
    count(*) filter (where fate = 'finished_in_time') as finished_in_time,
    count(*) filter (where fate = 'finished_late') as finished_late,
    count(*) filter (where fate = 'expired') as expired,
    count(*) filter (where is_due) as due_so_far,
    on_time_share(fate, is_due) as on_time_share
from process_ends
group by all
