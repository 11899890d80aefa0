-- One row per delivery of the platform that was answered 200 or quarantined, newest first.
-- open to: analysts
-- key: seq
-- order: seq desc
-- column: seq | the entry
-- column: kind | text | webhook, or quarantine where the body could not be read
-- column: event_id | the platform's id, or sha256:<digest of the body> without one; null in quarantine
-- column: event_type | text | the event's type; null in quarantine
-- column: created_at | when the platform created the event, where it says so
-- column: occurred_at | when it was received
-- column: recorded_at | when it was recorded
-- column: record_seconds | from receipt to record; the platform waits 30 seconds
-- column: origin | word | live, or ingested from a file
-- column: is_redelivery | the event had been recorded before
-- column: replay_of | the quarantined entry that was read again as this one
-- column: reason | text | why it is in quarantine

with first_deliveries as (
    -- The first recorded of those that had occurred at as_of, of events delivered more than once.
    select event_id, min(seq) as seq
    from fact_webhooks as webhooks
    semi join repeated_deliveries using (event_id)
    where occurred_at <= as_of()
    group by event_id
)

select
    webhooks.seq,
    'webhook' as kind,
    webhooks.event_id,
    webhooks.event_type,
    webhooks.created_at,
    webhooks.occurred_at,
    webhooks.recorded_at,
    case when webhooks.replay_of is null
        then (epoch_us(webhooks.recorded_at) - epoch_us(webhooks.occurred_at)) / 1e6
    end as record_seconds,
    webhooks.origin,
    webhooks.is_again and webhooks.seq <> first_deliveries.seq as is_redelivery,
    coalesce(repeated_deliveries.is_altered, false) as is_altered,
    webhooks.replay_of,
    null as reason
from fact_webhooks as webhooks
left join repeated_deliveries on repeated_deliveries.seq = webhooks.seq
left join first_deliveries on first_deliveries.event_id = webhooks.event_id
where webhooks.occurred_at <= as_of()
union all
select
    seq,
    'quarantine' as kind,
    null as event_id,
    null as event_type,
    null as created_at,
    occurred_at,
    recorded_at,
    (epoch_us(recorded_at) - epoch_us(occurred_at)) / 1e6 as record_seconds,
    origin,
    false as is_redelivery,
    false as is_altered,
    null as replay_of,
    reason
from fact_quarantined
where occurred_at <= as_of()
