-- One row while no delivery has come for longer than usual (docs/alerts.md#silence); none else.
-- key: seq
-- column: seq | the last delivery
-- column: last_at | when it was received
-- column: hours | the pause after which it is silence
-- column: since | when that was over

with deliveries as (
    select seq, occurred_at
    from fact_webhooks
    where origin = 'live' and replay_of is null
        and occurred_at > as_of() - interval 28 day and occurred_at <= as_of()
    union all
    select seq, occurred_at
    from fact_quarantined
    where origin = 'live'
        and occurred_at > as_of() - interval 28 day and occurred_at <= as_of()
),

minutes as (
    select date_trunc('minute', occurred_at) as minute, count(*) as deliveries
    from deliveries
    group by all
),

pauses as (
    select minute - lag(minute) over (order by minute) as pause, deliveries
    from minutes
),

usual as (
    -- The third longest: two outages of the platform's do not count, and every weekend does.
    select
        coalesce(
            to_hours(alert_rules().silence),
            case
                when sum(deliveries) >= 10 and count(pause) >= 3
                    then greatest(interval 1 hour, max(pause, 3)[3] * 1.5)
            end
        ) as longest
    from pauses
),

latest as (
    select max(struct_pack(occurred_at, seq)) as last from deliveries
)

select
    last.seq as seq,
    last.occurred_at as last_at,
    epoch(longest) / 3600 as hours,
    last.occurred_at + longest as since
from latest
cross join usual
where last.occurred_at + longest <= as_of()
