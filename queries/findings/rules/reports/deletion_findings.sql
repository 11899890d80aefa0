-- One row per open process of a deleted seller (deleted_with_open): the platform has to say whether it stands.
-- in: findings
-- key: rule, process_id
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
