-- One row per status event of a seller created after its deletion (status_after_deletion), and per
-- open process of a deleted seller (deleted_with_open): the platform has to say whether it stands.
-- in: findings
-- key: rule, seq, process_id
--
-- rule: status_after_deletion
-- place: 260
-- severity: risk
-- name: Status reported after the deletion
-- means: For us the seller stays deleted, but the platform may see it otherwise.
-- remedy: Ask the platform whether the seller exists.
--
-- rule: deleted_with_open
-- place: 270
-- severity: risk
-- name: Deleted seller with an open review
-- means: The deadline keeps running, and nobody may be there to answer.
-- remedy: Ask the platform whether the review still stands.

with openings as (
    select
        process_id,
        arg_min(seq, struct_pack(created_at, occurred_at, event_id, content_sha256)) as seq
    from review_events
    where process_id in (
        select process_id
        from clocked_processes
        where seller_id in (select seller_id from deleted_sellers)
    )
    group by process_id
)

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
union all
select
    'deleted_with_open' as rule,
    'risk' as severity,
    processes.process_id,
    processes.seller_id,
    case when processes.opened_at > deleted_at then openings.seq else deletion_seq end as seq,
    '' as detail,
    greatest(deleted_at, processes.opened_at) as found_at
from deleted_sellers
join clocked_processes as processes on processes.seller_id = deleted_sellers.seller_id
join openings on openings.process_id = processes.process_id
where processes.state in ('PENDING', 'OVERDUE', 'EXPIRED')
