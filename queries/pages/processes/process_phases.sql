-- One row per review process, phase and part of it that has passed or is still to come: what the
-- process's clock looks like, drawn. A finished process ends when it was finished.
-- key: process_id, phase, is_past
-- order: process_id, starts_at
-- by: process_id
-- column: phase | word | pending, overdue or expired
-- column: starts_at | first instant of the part
-- column: ends_at | first instant after it
-- column: is_past | over at as_of; otherwise still to come

with clocks as (
    select
        process_id,
        opened_at,
        overdue_at,
        deadline_at,
        finished_at is not null as is_finished,
        coalesce(finished_at, as_of) as stands_at
    from process_state, clock
    where opened_at is not null
),

phases as (
    select process_id, 'pending' as phase, opened_at as starts_at, overdue_at as ends_at,
        stands_at, is_finished
    from clocks
    union all
    select process_id, 'overdue', overdue_at, deadline_at, stands_at, is_finished
    from clocks
    union all
    select process_id, 'expired', deadline_at, stands_at, stands_at, is_finished
    from clocks
)

select process_id, phase, starts_at, least(ends_at, stands_at) as ends_at, true as is_past
from phases
where starts_at < least(ends_at, stands_at)
union all
select process_id, phase, greatest(starts_at, stands_at), ends_at, false
from phases
where not is_finished and greatest(starts_at, stands_at) < ends_at
