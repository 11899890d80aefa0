-- One row per review process with a review event: how it stands against its deadline
-- (docs/rules.md#over-time).
-- key: process_id
-- column: fate | finished_in_time, finished_late, expired or open
-- column: is_due | its deadline has come

select
    process_id,
    seller_id,
    review_type,
    opened_at,
    deadline_at,
    finished_at,
    case
        when finished_late then 'finished_late'
        when finished_at is not null then 'finished_in_time'
        when state = 'EXPIRED' then 'expired'
        else 'open'
    end as fate,
    deadline_at <= as_of() as is_due
from clocked_processes
where opened_at is not null
