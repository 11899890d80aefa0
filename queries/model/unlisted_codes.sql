-- One row per delivery and code in it that the contract does not list, whether the delivery counts or not.
-- Materialized in `materialized.unlisted_codes`: an entry's rows never change.
-- key: seq, kind, code
-- column: seq | the delivery
-- column: event_id | the platform's id, or sha256:<digest of the body> without one
-- column: occurred_at | when it was received
-- column: process_id | the platform's id of the review process
-- column: seller_id | the seller it is about
-- column: kind | which code it is
-- column: code | the code as the platform wrote it

with codes as (
    select seq, 'event type' as kind, event_type as code from facts.webhooks
    union all
    select seq, 'event without id' as kind, event_type as code from facts.webhooks where not has_id
    union all
    select seq, 'payload' as kind, event_type as code from facts.webhooks where not is_shape_known
    union all
    select seq, 'review type' as kind, object_type as code from facts.reviews
    union all
    select seq, 'review status' as kind, status as code from facts.reviews
    union all
    select seq, 'requested path' as kind, unnest(requested_fields) as code from facts.reviews
    union all
    select seq, 'reason' as kind, unnest(reason_pairs(reasons)).reason as code from facts.seller_events
    where event_type = 'seller.denied'
    union all
    select seq, 'detail' as kind, unnest(reason_pairs(reasons)).detail as code from facts.seller_events
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
    coalesce(reviews.seller_id, seller_events.seller_id, bank_account_events.seller_id)
        as seller_id,
    unlisted.kind,
    unlisted.code
from unlisted
join facts.webhooks as webhooks on webhooks.seq = unlisted.seq
left join facts.reviews as reviews on reviews.seq = unlisted.seq
left join facts.seller_events as seller_events on seller_events.seq = unlisted.seq
left join facts.bank_account_events as bank_account_events
    on bank_account_events.seq = unlisted.seq
