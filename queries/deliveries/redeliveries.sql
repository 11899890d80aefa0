-- One row per event that was delivered more than once, most often first.
-- reads: deliveries
-- key: event_id
-- column: event_id | the platform's id of the event
-- column: event_type | its type, in the delivery that counts
-- column: deliveries | how often it was delivered
-- column: altered | deliveries whose bytes differ from those of the one that counts
-- column: first_at | when the first was received
-- column: last_at | when the last was received

select
    event_id,
    arg_min(event_type, struct_pack(is_altered, occurred_at, seq)) as event_type,
    count(*) as deliveries,
    count(*) filter (where is_altered) as altered,
    min(occurred_at) as first_at,
    max(occurred_at) as last_at
from deliveries
where kind = 'webhook'
group by event_id
having count(*) > 1
order by deliveries desc, event_id
