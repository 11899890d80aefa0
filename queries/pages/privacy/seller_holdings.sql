-- One row per seller and kind of entry: what the log holds of a person, who was shown it included, and
-- how much of it was erased.
-- key: seller_id, kind
-- order: first_at, kind, seller_id
-- column: seller_id | the seller it is about
-- column: kind | text | what happened
-- column: entries | how many
-- column: erased | how many of them have, in place of what came, what remains after somebody was forgotten
-- column: artifacts | screens, flows and logs that they name, erased or not
-- column: first_at | when the first of them happened
-- column: last_at | when the last of them happened

with concerned as (
    select distinct process_id, seller_id
    from timeline
    where process_id is not null and seller_id is not null
),

theirs as (
    select seq, occurred_at, seller_id from seller_entries
    union
    select timeline.seq, timeline.occurred_at, concerned.seller_id
    from timeline
    join concerned on concerned.process_id = timeline.process_id
    where timeline.seller_id is null
),

collected as (
    select seq, count(*) as artifacts
    from fact_artifacts
    group by seq
)

select
    theirs.seller_id,
    log.kind,
    count(*) as entries,
    count(*) filter (holds_remains(log.body, log.salt, log.record)) as erased,
    cast(coalesce(sum(collected.artifacts), 0) as bigint) as artifacts,
    min(theirs.occurred_at) as first_at,
    max(theirs.occurred_at) as last_at
from theirs
join log on log.seq = theirs.seq
left join collected on collected.seq = theirs.seq
group by theirs.seller_id, log.kind
