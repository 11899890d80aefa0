-- One row per event of which not exactly one delivery counts, or whose later deliveries are not marked
-- as repetitions: what counts once rests on those marks.
-- reads: facts.webhooks, superseded_deliveries
-- key: event_id
-- column: event_id | the event
-- column: deliveries | how often it was delivered
-- column: counted | deliveries that count: 1
-- column: marked | deliveries marked as repetitions: one less than there are

select
    webhooks.event_id,
    count(*) as deliveries,
    count(*) - count(superseded.seq) as counted,
    count(*) filter (where webhooks.is_again) as marked
from facts.webhooks as webhooks
left join superseded_deliveries as superseded on superseded.seq = webhooks.seq
group by webhooks.event_id
having counted <> 1
    or marked <> deliveries - 1
    or arg_min(webhooks.is_again, webhooks.seq)
