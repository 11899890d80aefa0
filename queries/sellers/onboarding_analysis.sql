-- One row per UTC day on which the platform decided on sellers: how long its analyses took. It
-- promises 180 seconds for 99 % of them (docs/contract.md#limits).
-- open to: analysts
-- key: day
-- column: day | UTC day of the decision, the first seller.enabled or seller.denied
-- column: analysed | sellers decided that day whose seller.created is known
-- column: within_180_s | those decided within 180 seconds of it
-- column: share | within_180_s / analysed
-- column: p99_seconds | the 99th percentile by nearest rank, in seconds

with analyses as (
    select
        seller_id,
        min(created_at) filter (where event_type = 'seller.created') as created_at,
        min(created_at) filter (where event_type in ('seller.enabled', 'seller.denied'))
            as decided_at
    from seller_events
    group by seller_id
),

timed as (
    select
        cast(decided_at as date) as day,
        (epoch_us(decided_at) - epoch_us(created_at)) / 1e6 as seconds
    from analyses
    where created_at is not null and decided_at is not null
)

select
    day,
    count(*) as analysed,
    count(*) filter (where seconds <= 180) as within_180_s,
    count(*) filter (where seconds <= 180) / count(*) as share,
    quantile_disc(seconds, 0.99) as p99_seconds
from timed
group by day
