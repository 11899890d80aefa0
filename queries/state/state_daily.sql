-- One row per UTC day from the first opened_at to as_of: how many processes stood in each state at
-- the day's last microsecond, or at as_of for the current day (rules.md section 7). Processes
-- without a review event are left out. A day shows what had been received by its end, so each row
-- equals `process_state` as of then.
-- reads: clock, process_facts, unsteady_stays
-- key: day
-- column: day | UTC day
-- column: pending | processes PENDING at its end
-- column: overdue | processes OVERDUE at its end
-- column: expired | processes EXPIRED at its end
-- column: finished | processes FINISHED at its end

with standing as (
    -- From when a process stood in each state; null where that is still to come.
    select
        first_received_at as known_at,
        greatest(first_received_at, overdue_since) as overdue_at,
        greatest(first_received_at, expired_since) as expired_at,
        case when finished_known_at is not null then greatest(first_received_at, finished_known_at)
            end as finished_at
    from process_facts
    where overdue_since is not null
),

tuples as (
    -- What happens within a day does not show at its end: days are all that is needed, and some
    -- thousand tuples of them stand for any number of processes.
    select
        cast(known_at as date) as known_on,
        case when overdue_at <= (select as_of from clock) then cast(overdue_at as date) end
            as overdue_on,
        case when expired_at <= (select as_of from clock) then cast(expired_at as date) end
            as expired_on,
        case when finished_at <= (select as_of from clock) then cast(finished_at as date) end
            as finished_on,
        count(*) as processes
    from standing
    group by all
),

stays as (
    select 'pending' as state, known_on as from_on,
        least(overdue_on, expired_on, finished_on) as until_on, processes
    from tuples
    union all
    select 'overdue' as state, overdue_on as from_on, least(expired_on, finished_on) as until_on,
        processes
    from tuples
    union all
    select 'expired' as state, expired_on as from_on, finished_on as until_on, processes
    from tuples
    union all
    select 'finished' as state, finished_on as from_on, null as until_on, processes
    from tuples
    union all
    select
        state,
        cast(from_at as date) as from_on,
        case when until_at <= (select as_of from clock) then cast(until_at as date) end as until_on,
        1 as processes
    from unsteady_stays
    where from_at <= (select as_of from clock)
),

first_day as (
    select cast(min(opened_at) as date) as day from process_facts
),

changes as (
    -- A stay counts on the days whose end it holds: from its first day to the one before its last.
    select state, greatest(from_on, (select day from first_day)) as day, processes as change
    from stays
    where from_on < until_on or (from_on is not null and until_on is null)
    union all
    select state, greatest(until_on, (select day from first_day)) as day, -processes as change
    from stays
    where from_on < until_on
),

by_day as (
    select
        day,
        sum(change) filter (where state = 'pending') as pending,
        sum(change) filter (where state = 'overdue') as overdue,
        sum(change) filter (where state = 'expired') as expired,
        sum(change) filter (where state = 'finished') as finished
    from changes
    group by day
),

days as (
    select cast(unnest(generate_series(
        first_day.day, cast(clock.as_of as date), interval 1 day
    )) as date) as day
    from first_day, clock
)

select
    days.day,
    cast(coalesce(sum(pending) over to_day, 0) as bigint) as pending,
    cast(coalesce(sum(overdue) over to_day, 0) as bigint) as overdue,
    cast(coalesce(sum(expired) over to_day, 0) as bigint) as expired,
    cast(coalesce(sum(finished) over to_day, 0) as bigint) as finished
from days
left join by_day on by_day.day = days.day
window to_day as (order by days.day)
order by days.day
