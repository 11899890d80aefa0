-- One row per event that was delivered more than once, most often first.
-- open to: analysts
-- key: event_id
-- order: deliveries desc, event_id
-- column: event_id | the platform's id of the event
-- column: event_type | text | its type, in the first version
-- column: deliveries | how often it was delivered
-- column: altered | deliveries that say something else than the first version
-- column: first_at | when the first was received
-- column: last_at | when the last was received

with repeated as (
    select webhooks.*, is_altered
    from fact_webhooks as webhooks
    join repeated_deliveries on repeated_deliveries.seq = webhooks.seq
    where webhooks.occurred_at <= as_of()
)

select
    event_id,
    arg_min(event_type, struct_pack(is_altered, occurred_at, seq)) as event_type,
    count(*) as deliveries,
    count(*) filter (where is_altered) as altered,
    min(occurred_at) as first_at,
    max(occurred_at) as last_at
from repeated
group by event_id
having count(*) > 1
