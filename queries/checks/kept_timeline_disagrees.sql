-- One row per entry, and side of the comparison, whose kept row of the timeline is not what the log says.
-- reads: clock, timeline, kept.timeline
-- key: seq, side
-- column: seq | the entry
-- column: side | log or kept: which of the two has this row and the other has not

with by_kept as (
    select
        seq, occurred_at, recorded_at, kind, process_id, seller_id, event_id, event_type,
        reported_status, deadline_at, attempt_id, status, error, step, channel, source, actor,
        reason, is_again, origin, recorded_by, lower(hex(leaf_hash)) as leaf_hash
    from kept.timeline
    where occurred_at <= (select as_of from clock)
)

select seq, 'log' as side
from (from timeline except from by_kept)
union all
select seq, 'kept' as side
from (from by_kept except from timeline)
