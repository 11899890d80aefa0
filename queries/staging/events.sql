-- One row per event of the platform that counts, of whatever type, occurred by as_of; each version of
-- a review event is one of its own.
-- key: seq
-- column: seq | the entry that counts for this event
-- column: event_id | the platform's id, or sha256:<digest of the body> without one
-- column: event_type | as the platform wrote it
-- column: occurred_at | when it was received
-- column: has_id | the platform gave it an id
-- column: is_shape_known | false where a seller event carries no seller record
-- column: process_id | the platform's id of the review process
-- column: seller_id | the seller it is about

select
    webhooks.seq,
    webhooks.event_id,
    webhooks.event_type,
    webhooks.occurred_at,
    webhooks.has_id,
    webhooks.is_shape_known,
    reviews.process_id,
    coalesce(reviews.seller_id, fact_seller_events.seller_id, fact_bank_account_events.seller_id)
        as seller_id
from fact_webhooks as webhooks
anti join superseded_deliveries on superseded_deliveries.seq = webhooks.seq
left join fact_reviews as reviews on reviews.seq = webhooks.seq
left join fact_seller_events on fact_seller_events.seq = webhooks.seq
left join fact_bank_account_events on fact_bank_account_events.seq = webhooks.seq
where webhooks.occurred_at <= as_of()
