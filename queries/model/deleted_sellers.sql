-- One row per seller that the platform deleted: it is removed and no longer accessible (contract,
-- "Event list"), whatever an event says of it later.
-- key: seller_id
-- column: deleted_at | when the platform created its first `seller.deleted`
-- column: deletion_seq | the entry of that event

select
    seller_id,
    min(created_at) as deleted_at,
    arg_min(seq, struct_pack(created_at, occurred_at, event_id)) as deletion_seq
from seller_events
where event_type = 'seller.deleted'
group by seller_id
