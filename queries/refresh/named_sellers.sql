-- Sellers that events after `covered` name, and those that an older event names and a new one outranks.
select seller_id
from kept_timeline
where seq > getvariable('covered') and kind = 'webhook' and seller_id is not null
union
select seller_id
from kept_timeline
where seller_id is not null
    and seq in (
        select seq from fact_webhooks where event_id in (
            select event_id from fact_webhooks where seq > getvariable('covered') and is_again
        )
    )
