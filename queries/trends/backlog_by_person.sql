-- One row per person with unfinished reviews, and one for those of nobody, the most first: how many, and for how
-- long they have been open.
-- key: is_assigned, assignee
-- order: processes desc, is_assigned desc, assignee
-- column: is_assigned | somebody sees to them
-- column: assignee | staff | who sees to them; null for nobody
-- column: processes | unfinished reviews
-- column: expired | those that are EXPIRED
-- column: up_to_15_days | those opened in the 15 days before as_of
-- column: up_to_30_days | those opened up to 15 days before that
-- column: up_to_60_days | those opened up to 30 days before that
-- column: older | those opened earlier
-- column: oldest_opened_at | when the oldest was opened
-- column: oldest_process_id | that one

select
    assignee is not null as is_assigned,
    assignee,
    count(*) as processes,
    count(*) filter (where state = 'EXPIRED') as expired,
    count(*) filter (where opened_at > as_of() - interval 15 day) as up_to_15_days,
    count(*) filter (
        where opened_at <= as_of() - interval 15 day and opened_at > as_of() - interval 30 day
    ) as up_to_30_days,
    count(*) filter (
        where opened_at <= as_of() - interval 30 day and opened_at > as_of() - interval 60 day
    ) as up_to_60_days,
    count(*) filter (where opened_at <= as_of() - interval 60 day) as older,
    min(opened_at) as oldest_opened_at,
    arg_min(unfinished_states.process_id, struct_pack(opened_at, unfinished_states.process_id))
        as oldest_process_id
from unfinished_states
left join assignments on assignments.process_id = unfinished_states.process_id
where state <> 'UNKNOWN'
group by assignee
