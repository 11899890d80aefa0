-- Sellers whom a delivery after as_of names, or another delivery of the same event, since another one of these
-- may have counted then; and those whom one named when their rows were made.
with later as (
    select seq, event_id from fact_webhooks where occurred_at > as_of()
),

entries as (
    select seq from later
    union
    select seq
    from fact_webhooks
    where event_id in (
        select event_id from fact_webhooks where is_again and event_id in (select event_id from later)
    )
)

select distinct seller_id
from kept_timeline
where kind = 'webhook' and seller_id is not null and seq in (from entries)
union
from earlier_unsettled_sellers
