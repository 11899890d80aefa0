-- Every delivery of the events that entries after `after` repeat.
with asked_webhooks as (
    from facts.webhooks where event_id in (
        select event_id from facts.webhooks where seq > getvariable('after') and is_again
    )
)

from asked_webhooks
