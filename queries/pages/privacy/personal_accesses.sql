-- One row per seller and entry by which somebody saw, or may have seen, the seller's personal data, newest
-- first. A search names all that its session has found; the first one that has the seller counts.
-- key: seq, seller_id
-- order: occurred_at desc, seq desc, seller_id
-- column: seq | the entry that says so
-- column: seller_id | the seller whose data it is
-- column: occurred_at | when it was
-- column: how | word | record, names, search, package, masked_package, or rows: many were shown, this seller's perhaps among them
-- column: shown_view | text | the view whose rows were shown; null for a search or a package
-- column: process_id | the review process that was asked for; null where none was
-- column: actor | staff | who saw it
-- column: reason | text | why
-- column: recorded_by | staff | by what way: the dashboard, a token or a command's user

with acts as (
    select seq, kind, occurred_at, process_id, seller_id, actor, reason, content
    from fact_actions
    where kind in ('unmask', 'search', 'export') and occurred_at <= as_of()
),

concerned as (
    select distinct process_id, seller_id
    from timeline
    where process_id is not null and seller_id is not null
),

theirs as (
    select seq, occurred_at, seller_id
    from timeline
    where seller_id is not null
    union
    select timeline.seq, timeline.occurred_at, concerned.seller_id
    from timeline
    join concerned on concerned.process_id = timeline.process_id
),

known as (
    select seller_id, min(occurred_at) as first_at
    from theirs
    group by seller_id
),

showings as (
    select
        seq,
        occurred_at,
        content ->> '$.sellers[*]' as sellers,
        content ->> '$.filters.seller_id[*]' as seller_ids,
        content ->> '$.filters.process_id[*]' as process_ids,
        list_concat([content ->> '$.filters.attempt_id'], content ->> '$.filters.attempt_id[*]') as attempt_ids,
        -- An id that the log did not know stands there by a digest: it is nobody's.
        (content -> '$.filters.seller_id') is null
        and (content -> '$.filters.process_id') is null
        and (content -> '$.filters.attempt_id') is null
        and (content -> '$.sellers') is null
        and seller_id is null
        and process_id is null as is_about_many
    from acts
    where kind = 'unmask'
),

processes as (
    select seq, process_id from acts where process_id is not null and seller_id is null
    union
    select seq, unnest(process_ids) as process_id from showings
    union
    select seq, unnest(content ->> '$.drawn[*]') as process_id from acts where kind = 'export'
    union
    select showings.seq, timeline.process_id
    from showings
    join timeline on list_contains(showings.attempt_ids, timeline.attempt_id)
),

periods as (
    select
        seq,
        try_cast(content ->> '$.scope.from' as timestamp) as since,
        try_cast(content ->> '$.scope.to' as timestamp) as until
    from acts
    where kind = 'export' and process_id is null and seller_id is null
        and content ->> '$.scope.sample' is null  -- which shows those alone that were drawn
),

found as (
    select seq, coalesce(content ->> '$.session', cast(seq as varchar)) as session,
        unnest(content ->> '$.sellers[*]') as seller_id
    from acts
    where kind = 'search'
),

seen as (
    select seq, seller_id, 'record' as how from acts where seller_id is not null
    union
    select processes.seq, concerned.seller_id, 'record' as how
    from processes
    join concerned on concerned.process_id = processes.process_id
    union
    select seq, unnest(seller_ids) as seller_id, 'record' as how from showings
    union
    select seq, unnest(sellers) as seller_id, 'names' as how from showings
    union
    select showings.seq, known.seller_id, 'rows' as how
    from showings
    join known on known.first_at <= showings.occurred_at
    where showings.is_about_many
    union
    select min(seq) as seq, seller_id, 'search' as how
    from found
    group by session, seller_id
    union
    select periods.seq, theirs.seller_id, 'record' as how
    from periods
    join theirs
        on theirs.occurred_at >= periods.since
        and theirs.occurred_at < periods.until
        and theirs.seq < periods.seq
)

select
    acts.seq,
    seen.seller_id,
    acts.occurred_at,
    case
        when acts.kind = 'export' and acts.content ->> '$.profile' = 'full' then 'package'
        when acts.kind = 'export' then 'masked_package'
        else seen.how
    end as how,
    case when acts.kind = 'unmask' then acts.content ->> '$.view' end as shown_view,
    acts.process_id,
    acts.actor,
    acts.reason,
    log.recorded_by
from seen
join acts on acts.seq = seen.seq
join log on log.seq = seen.seq
