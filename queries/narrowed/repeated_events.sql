-- Every delivery of the events that entries after `after` repeat.
with fact_webhooks as (
    from main.fact_webhooks where event_id in (
        select event_id from main.fact_webhooks where seq > getvariable('after') and is_again
    )
)
