-- One row per event that was delivered more than once, most often first.
-- reads: clock, superseded_deliveries, facts.webhooks
-- key: event_id
-- column: event_id | the platform's id of the event
-- column: event_type | its type, in the delivery that counts
-- column: deliveries | how often it was delivered
-- column: altered | deliveries whose bytes differ from those of the one that counts
-- column: first_at | when the first was received
-- column: last_at | when the last was received

with repeated as (
    -- Of deliveries of one event, all but one are superseded.
    select webhooks.*, coalesce(superseded_deliveries.is_altered, false) as is_altered
    from facts.webhooks
    semi join superseded_deliveries as others on others.event_id = webhooks.event_id
    left join superseded_deliveries on superseded_deliveries.seq = webhooks.seq
    where webhooks.occurred_at <= (select as_of from clock)
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
order by deliveries desc, event_id
