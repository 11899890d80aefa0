-- One row per event of which other deliveries count than one for each version of a review and one for
-- all its other versions, or whose later deliveries are not marked as repetitions: what counts once
-- rests on those marks.
-- key: event_id
-- column: deliveries | how often it was delivered
-- column: counted | deliveries that count once all have occurred
-- column: versions | how many should
-- column: marked | deliveries marked as repetitions: one less than there are

select
    webhooks.event_id,
    count(*) as deliveries,
    count(*) filter (where repeated.superseded_at is null) as counted,
    count(distinct case
        when event_type = 'regulatory.registration.review.required' then content_sha256
        else ''::blob
    end) as versions,
    count(*) filter (where webhooks.is_again) as marked
from fact_webhooks as webhooks
left join repeated_deliveries as repeated on repeated.seq = webhooks.seq
group by webhooks.event_id
having counted <> versions
    or marked <> deliveries - 1
    or arg_min(webhooks.is_again, webhooks.seq)
