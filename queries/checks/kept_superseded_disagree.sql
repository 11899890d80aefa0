-- One row per delivery, and side of the comparison, whose kept row is not what the log says of it.
-- reads: superseded_deliveries, kept.superseded
-- key: seq, side
-- column: seq | the delivery
-- column: side | log or kept: which of the two has this row and the other has not

with by_kept as (
    select seq, event_id, is_altered
    from kept.superseded
)

select seq, 'log' as side
from (from superseded_deliveries except from by_kept)
union all
select seq, 'kept' as side
from (from by_kept except from superseded_deliveries)
