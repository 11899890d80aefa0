-- One row per endpoint to which deliveries are passed on, as the log last said how far it is: at most ten
-- minutes ago while deliveries come (docs/forwarding.md#in-the-log). `prazo forward status` says it as of now.
-- open to: analysts
-- key: endpoint
-- column: endpoint | text | its name
-- column: reported_at | when the log last said how far it is
-- column: position | the entry up to which all was taken, given up, or waits behind one that failed
-- column: to_do | live deliveries after that, whether they are for this endpoint or not
-- column: to_do_since | when the first of these was received; null where there is none
-- column: last_success_at | when it last took a delivery, as it was reported; null before the first
-- column: failing_since | the first failure since then, as it was reported; null while it takes deliveries
-- column: waiting_sellers | how many sellers' deliveries waited behind one that failed, as it was reported
-- column: dead_letters | deliveries that were given up and not replayed since
-- column: paused_since | when it was paused; null while it is not
-- column: seq | the entry that says how far it is

with said as (
    select
        seq,
        occurred_at,
        step,
        content ->> '$.endpoint' as endpoint,
        cast(content ->> '$.position' as bigint) as position,
        cast(content ->> '$.seq' as bigint) as delivery,
        cast(content ->> '$.from_seq' as bigint) as replayed_from,
        cast(content ->> '$.waiting' as bigint) as waiting,
        make_timestamp(cast(content ->> '$.last_success_us' as bigint)) as last_success_at,
        make_timestamp(cast(content ->> '$.failing_since_us' as bigint)) as failing_since
    from fact_actions
    where kind = 'forwarding' and occurred_at <= as_of()
),

newest as (
    select
        endpoint,
        arg_max(seq, seq) as seq,
        arg_max(occurred_at, seq) as reported_at,
        arg_max(position, seq) as position
    from said
    where position is not null
    group by endpoint
),

progress as (
    select
        endpoint,
        arg_max(struct_pack(last_success_at, failing_since, waiting), seq) as last
    from said
    where step = 'progress'
    group by endpoint
),

pauses as (
    select
        endpoint,
        case when arg_max(step, seq) = 'paused' then arg_max(occurred_at, seq) end as paused_since
    from said
    where step in ('paused', 'resumed')
    group by endpoint
),

dead as (
    select endpoint, count(distinct delivery) as letters
    from said
    where step = 'dead'
        and not exists (
            from said later
            where later.step in ('replayed', 'put_back')
                and later.endpoint = said.endpoint
                and later.seq > said.seq
                and (
                    later.delivery = said.delivery
                    or later.replayed_from <= said.delivery
                    or (later.step = 'put_back' and later.position < said.delivery)
                )
        )
    group by endpoint
),

deliveries as (
    select seq, occurred_at
    from fact_webhooks
    where origin = 'live' and replay_of is null and occurred_at <= as_of()
    union all
    select seq, occurred_at
    from fact_quarantined
    where origin = 'live' and occurred_at <= as_of()
),

to_do as (
    select endpoint, count(*) as deliveries, min(occurred_at) as since
    from newest
    join deliveries on deliveries.seq > newest.position
    group by endpoint
)

select
    newest.endpoint,
    newest.reported_at,
    newest.position,
    coalesce(to_do.deliveries, 0) as to_do,
    to_do.since as to_do_since,
    progress.last.last_success_at as last_success_at,
    progress.last.failing_since as failing_since,
    coalesce(progress.last.waiting, 0) as waiting_sellers,
    coalesce(dead.letters, 0) as dead_letters,
    pauses.paused_since,
    newest.seq
from newest
left join to_do using (endpoint)
left join progress using (endpoint)
left join dead using (endpoint)
left join pauses using (endpoint)
