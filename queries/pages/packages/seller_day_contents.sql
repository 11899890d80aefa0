-- One row per seller, UTC day and kind of entry: what an audit package of the seller and these days
-- would hold at least.
-- key: seller_id, day, kind
-- column: seller_id | the platform's id of the seller
-- column: day | UTC day on which the entries happened
-- column: kind | text | what happened
-- column: entries | how many

select
    seller_id,
    cast(occurred_at as date) as day,
    kind,
    count(distinct seq) as entries
from timeline
where seller_id is not null
group by seller_id, day, kind
