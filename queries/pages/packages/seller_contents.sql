-- One row per seller and kind of entry: what an audit package of the seller would hold at least, its
-- own entries and all those of its processes.
-- key: seller_id, kind
-- order: first_at, kind, seller_id
-- column: seller_id | the platform's id of the seller
-- column: kind | text | what happened
-- column: entries | how many
-- column: first_at | when the first of them happened
-- column: last_at | when the last of them happened

with concerned as (
    select distinct process_id, seller_id
    from timeline
    where process_id is not null and seller_id is not null
),

entries as (
    select seq, kind, occurred_at, seller_id
    from timeline
    where seller_id is not null
    union
    select timeline.seq, timeline.kind, timeline.occurred_at, concerned.seller_id
    from timeline
    join concerned on concerned.process_id = timeline.process_id
)

select
    seller_id,
    kind,
    count(*) as entries,
    min(occurred_at) as first_at,
    max(occurred_at) as last_at
from entries
group by seller_id, kind
