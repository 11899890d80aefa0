-- One row per week of the 12 that end with as_of's UTC day, oldest first: sellers that the platform
-- enabled or denied.
-- open to: analysts
-- key: ends_on
-- column: decided | sellers enabled or denied
-- column: denied | sellers denied
-- column: denial_share | denied / decided; null over nothing

with decisions as (
    select
        cast(created_at as date) as day,
        seller_id,
        event_type = 'seller.denied' as is_denial
    from seller_events
    where event_type in ('seller.enabled', 'seller.denied')
        and created_at >= (select min(ends_on) from past_weeks) - 6
)

select
    ends_on,
    count(distinct seller_id) as decided,
    count(distinct seller_id) filter (where is_denial) as denied,
    count(distinct seller_id) filter (where is_denial) / nullif(count(distinct seller_id), 0)
        as denial_share
from past_weeks
left join decisions on day between ends_on - 6 and ends_on
group by ends_on
