-- One row per status event of a seller created after its deletion (status_after_deletion).
-- in: findings
-- key: rule, seq
--
-- rule: status_after_deletion
-- place: 260
-- severity: risk
-- name: Status reported after the deletion
-- means: For us the seller stays deleted, but the platform may see it otherwise.
-- remedy: Ask the platform whether the seller exists.

select
    'status_after_deletion' as rule,
    'risk' as severity,
    null as process_id,
    seller_events.seller_id,
    seller_events.seq,
    seller_events.event_type as detail,
    seller_events.created_at as found_at
from deleted_sellers
join seller_events on seller_events.seller_id = deleted_sellers.seller_id
where seller_events.created_at > deleted_sellers.deleted_at
    and (
        seller_events.event_type = 'seller.created'
        or contract.seller_status(seller_events.event_type) is not null
    )
