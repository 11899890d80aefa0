-- One row per UTC day of the 60 before as_of, that of as_of included: sellers that the platform
-- enabled or denied.
-- reads: clock, seller_events
-- key: day
-- column: day | UTC day of the decisions
-- column: decided | sellers enabled or denied
-- column: denied | sellers denied
-- column: denial_share | denied / decided; null over nothing

with days as (
    select cast(as_of as date) - cast(back as integer) as day
    from clock, range(60) as offsets (back)
),

decisions as (
    select
        cast(created_at as date) as day,
        count(distinct seller_id) as decided,
        count(distinct seller_id) filter (where event_type = 'seller.denied') as denied
    from seller_events
    where event_type in ('seller.enabled', 'seller.denied')
        and created_at >= (select min(day) from days)
    group by cast(created_at as date)
)

select
    days.day,
    coalesce(decided, 0) as decided,
    coalesce(denied, 0) as denied,
    denied / decided as denial_share
from days
left join decisions on decisions.day = days.day
order by days.day
