-- One row per stretch of UTC days at whose ends as many processes stood in each state, from the first
-- opened_at to as_of: what `state_daily` says day by day, however far as_of is from the last change.
-- key: first_day
-- column: first_day | its first UTC day
-- column: last_day | its last
-- column: pending | processes PENDING at the end of each day
-- column: overdue | processes OVERDUE at the end of each day
-- column: expired | processes EXPIRED at the end of each day
-- column: finished | processes FINISHED at the end of each day

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
        case when overdue_at <= as_of() then cast(overdue_at as date) end
            as overdue_on,
        case when expired_at <= as_of() then cast(expired_at as date) end
            as expired_on,
        case when finished_at <= as_of() then cast(finished_at as date) end
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
        case when until_at <= as_of() then cast(until_at as date) end as until_on,
        1 as processes
    from unsteady_stays
    where from_at <= as_of()
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

starts as (
    select day from by_day
    union
    select day from first_day
)

select
    starts.day as first_day,
    coalesce(lead(starts.day) over to_day - 1, (select cast(as_of as date) from clock)) as last_day,
    cast(coalesce(sum(pending) over to_day, 0) as bigint) as pending,
    cast(coalesce(sum(overdue) over to_day, 0) as bigint) as overdue,
    cast(coalesce(sum(expired) over to_day, 0) as bigint) as expired,
    cast(coalesce(sum(finished) over to_day, 0) as bigint) as finished
from starts
left join by_day on by_day.day = starts.day
where starts.day is not null
window to_day as (order by starts.day)
