-- One row per UTC day and kind of entry: what an audit package of these days would hold at least.
-- open to: analysts
-- key: day, kind
-- column: day | UTC day on which the entries happened
-- column: kind | text | what happened
-- column: entries | how many
-- column: processes | review processes that they are about

select
    cast(occurred_at as date) as day,
    kind,
    count(distinct seq) as entries,
    count(distinct process_id) as processes
from timeline
group by day, kind
