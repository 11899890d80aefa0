-- Takes away the deliveries of the events that entries after `after` repeat; all of them are looked at
-- again.
delete from kept_repeated_deliveries
where event_id in (
    select event_id from fact_webhooks where seq > getvariable('after') and is_again
)
