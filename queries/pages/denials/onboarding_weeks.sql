-- One row per week of the 12 that end with as_of's UTC day, oldest first: sellers that the platform
-- enabled or denied.
-- reads: clock, seller_events
-- key: ends_on
-- order: ends_on
-- column: ends_on | last UTC day of the week
-- column: decided | sellers enabled or denied
-- column: denied | sellers denied
-- column: denial_share | denied / decided; null over nothing

with weeks as (
    select cast(as_of as date) - cast(7 * back as integer) as ends_on
    from clock, range(12) as offsets (back)
    -- At the beginning of the calendar there are fewer: no program has a date before it.
    where datediff('day', date '0001-01-01', cast(as_of as date)) >= 7 * back
),

decisions as (
    select
        cast(created_at as date) as day,
        seller_id,
        event_type = 'seller.denied' as is_denial
    from seller_events
    where event_type in ('seller.enabled', 'seller.denied')
        and created_at >= (select min(ends_on) from weeks) - 6
)

select
    ends_on,
    count(distinct seller_id) as decided,
    count(distinct seller_id) filter (where is_denial) as denied,
    count(distinct seller_id) filter (where is_denial) / nullif(count(distinct seller_id), 0)
        as denial_share
from weeks
left join decisions on day between ends_on - 6 and ends_on
group by ends_on
