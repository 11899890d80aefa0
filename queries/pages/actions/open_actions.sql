-- One row per queue and kind of next action of unfinished review processes, what can still be saved first: how many
-- wait for it, and how late they are.
-- open to: analysts
-- key: queue, next_action
-- order: next_deadline_at nulls last, expired desc, next_action, queue
-- column: processes | processes of the queue that wait for it
-- column: without_type | those of which nothing can be sent: nobody knows whether the seller is an individual or a business
-- column: expired | those that are EXPIRED
-- column: due_within_7_days | those that are due in the 7 days to come
-- column: next_deadline_at | the nearest deadline that has not passed; null where all have
-- column: first_processes | ids | the first five of them, what can still be saved first

select
    queue,
    next_action,
    count(*) as processes,
    count(*) filter (where lacks_type) as without_type,
    count(*) filter (where state = 'EXPIRED') as expired,
    count(*) filter (where is_due_within_7_days) as due_within_7_days,
    min(deadline_at) filter (where deadline_at > as_of()) as next_deadline_at,
    arg_min(
        process_id,
        struct_pack(place := coalesce(savable_order(deadline_at, as_of()), 9223372036854775807), process_id),
        5
    ) as first_processes
from unfinished_work
group by queue, next_action
