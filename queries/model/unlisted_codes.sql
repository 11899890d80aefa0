-- One row per delivery and code in it that the contract does not list, whether the delivery counts or not.
-- Materialized in `kept_unlisted_codes`: an entry's rows never change.
-- key: seq, kind, code
-- column: seq | the delivery
-- column: event_id | the platform's id, or sha256:<digest of the body> without one
-- column: occurred_at | when it was received
-- column: process_id | the platform's id of the review process
-- column: seller_id | the seller it is about
-- column: kind | which code it is
-- column: code | the code as the platform wrote it

with codes as (
    select seq, 'event type' as kind, event_type as code from fact_webhooks as webhooks
    union all
    select seq, 'event without id' as kind, event_type as code from fact_webhooks as webhooks where not has_id
    union all
    select seq, 'payload' as kind, event_type as code from fact_webhooks as webhooks where not is_shape_known
    union all
    select seq, 'review type' as kind, object_type as code from fact_reviews as reviews
    union all
    select seq, 'review status' as kind, status as code from fact_reviews as reviews
    union all
    select seq, 'requested path' as kind, unnest(requested_fields) as code from fact_reviews as reviews
    union all
    select seq, 'reason' as kind, unnest(reason_pairs(reasons)).reason as code from fact_seller_events
    where event_type = 'seller.denied'
    union all
    select seq, 'detail' as kind, unnest(reason_pairs(reasons)).detail as code from fact_seller_events
    where event_type = 'seller.denied'
),

unlisted as (
    select distinct seq, kind, code
    from codes
    anti join contract.codes() as listed using (kind, code)
    where code <> '' or kind = 'requested path'
)

select
    unlisted.seq,
    webhooks.event_id,
    webhooks.occurred_at,
    reviews.process_id,
    coalesce(reviews.seller_id, fact_seller_events.seller_id, fact_bank_account_events.seller_id)
        as seller_id,
    unlisted.kind,
    unlisted.code
from unlisted
join fact_webhooks as webhooks on webhooks.seq = unlisted.seq
left join fact_reviews as reviews on reviews.seq = unlisted.seq
left join fact_seller_events on fact_seller_events.seq = unlisted.seq
left join fact_bank_account_events
    on fact_bank_account_events.seq = unlisted.seq
