-- One row: when the last delivery came, and whether none has come for longer than usual
-- (docs/alerts.md#silence). Nothing that was ingested from files counts, and no replay.
-- open to: analysts
-- key: last_seq
-- order: last_at
-- column: last_seq | the last delivery, one in quarantine too; null before the first
-- column: silent_since | since when it is silence; null while it is not. 28 days without a delivery are, whatever is usual

with heard as not materialized (
    select occurred_at, seq
    from fact_webhooks
    where origin = 'live' and replay_of is null and occurred_at <= as_of()
    union all
    select occurred_at, seq
    from fact_quarantined
    where origin = 'live' and occurred_at <= as_of()
),

latest as (
    -- Of several at that instant the one recorded last.
    select max(occurred_at) as last_at, max(seq) as last_seq
    from heard
    where occurred_at = (select max(occurred_at) from heard)
)

select
    last_seq,
    latest.last_at,
    case
        when since is not null then since
        when latest.last_at + interval 28 day <= as_of() then latest.last_at + interval 28 day
    end as silent_since
from latest
left join delivery_silence on true
