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
    -- One reading of the clocks, to which a filter by process is led; a union would copy all of them.
    select
        process_id,
        is_finished,
        stands_at,
        unnest([
            {'phase': 'pending', 'starts_at': opened_at, 'ends_at': overdue_at},
            {'phase': 'overdue', 'starts_at': overdue_at, 'ends_at': deadline_at},
            {'phase': 'expired', 'starts_at': deadline_at, 'ends_at': stands_at}
        ]) as part
    from clocks
)

select
    process_id,
    part.phase,
    case when is_past then part.starts_at else greatest(part.starts_at, stands_at) end as starts_at,
    case when is_past then least(part.ends_at, stands_at) else part.ends_at end as ends_at,
    is_past
from phases, (select unnest([true, false]) as is_past)
where case
    when is_past then part.starts_at < least(part.ends_at, stands_at)
    else not is_finished and greatest(part.starts_at, stands_at) < part.ends_at
end
