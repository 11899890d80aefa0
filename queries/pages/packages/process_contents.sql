-- One row per process and kind of entry: what an audit package of the process would hold at least.
-- key: process_id, kind
-- order: first_at, kind, process_id
-- column: process_id | the platform's id of the review process
-- column: kind | text | what happened
-- column: entries | how many
-- column: first_at | when the first of them happened
-- column: last_at | when the last of them happened

select
    process_id,
    kind,
    count(*) as entries,
    min(occurred_at) as first_at,
    max(occurred_at) as last_at
from timeline
where process_id is not null
group by process_id, kind
