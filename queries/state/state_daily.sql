-- One row per UTC day from the first opened_at to as_of: how many processes stood in each state at
-- the day's last microsecond, or at as_of for the current day (rules.md section 7). Processes
-- without a review event are left out. A day shows what had been received by its end, so each row
-- equals `process_state` as of then.
-- reads: clock, review_events, attempts
-- key: day
-- column: day | UTC day
-- column: pending | processes PENDING at its end
-- column: overdue | processes OVERDUE at its end
-- column: expired | processes EXPIRED at its end
-- column: finished | processes FINISHED at its end

with versions as (
    -- A process as each instant of receipt left it, until the next one.
    select
        known.process_id,
        known.occurred_at as from_at,
        lead(known.occurred_at) over (
            partition by known.process_id order by known.occurred_at
        ) as until_at,
        min(struct_pack(
            created_at := events.created_at,
            occurred_at := events.occurred_at,
            event_id := events.event_id,
            object_type := events.object_type
        )).object_type = 'REGISTRATION_REVIEW_REQUIRED' as is_acp,
        max(struct_pack(
            created_at := events.created_at,
            occurred_at := events.occurred_at,
            event_id := events.event_id,
            deadline_at := events.deadline_at
        )).deadline_at as deadline_at,
        list(struct_pack(deadline_at := events.deadline_at, gravity := gravity(events.status)))
            filter (where gravity(events.status) > 1) as grave_reports
    from (select distinct process_id, occurred_at from review_events) as known
    join review_events as events
        on events.process_id = known.process_id and events.occurred_at <= known.occurred_at
    group by known.process_id, known.occurred_at
),

finishes as (
    -- From when a process is known to be finished: an answer is known at once, a report on receipt.
    select process_id, min(known_at) as known_at
    from (
        select process_id, finished_at as known_at from attempts where outcome = 'accepted'
        union all
        select process_id, occurred_at as known_at from review_events where status = 'FINISHED'
    )
    group by process_id
),

graded as (
    -- A report only counts for its own deadline.
    select
        *,
        list_max([
            report.gravity for report in grave_reports if report.deadline_at = deadline_at
        ]) as gravest
    from versions
),

clocks as (
    -- When each state begins, as far as this version goes: by the clock, or at once by a report.
    select
        graded.from_at,
        least(graded.until_at, finishes.known_at) as until_at,
        finishes.known_at as finished_from,
        row_number() over (partition by graded.process_id order by graded.from_at) = 1
            as is_first,
        case
            when graded.gravest >= 2 or not graded.is_acp then graded.from_at
            else graded.deadline_at - interval 30 day
        end as overdue_from,
        case
            when graded.gravest = 3 then graded.from_at
            else graded.deadline_at
        end as expired_from
    from graded
    left join finishes on finishes.process_id = graded.process_id
),

stays as (
    select
        'pending' as state,
        from_at,
        least(until_at, overdue_from, expired_from) as until_at
    from clocks
    union all
    select
        'overdue' as state,
        greatest(from_at, overdue_from) as from_at,
        least(until_at, expired_from) as until_at
    from clocks
    union all
    select
        'expired' as state,
        greatest(from_at, expired_from) as from_at,
        until_at
    from clocks
    union all
    select
        'finished' as state,
        greatest(from_at, finished_from) as from_at,
        null as until_at
    from clocks
    where is_first and finished_from is not null
),

first_day as (
    select cast(min(created_at) as date) as day from review_events
),

changes as (
    -- A stay counts on the days whose end it holds: from its first day to the one before its last.
    select state, greatest(cast(from_at as date), (select day from first_day)) as day, 1 as change
    from stays
    where from_at <= (select as_of from clock) and (until_at is null or from_at < until_at)
    union all
    select state, greatest(cast(until_at as date), (select day from first_day)) as day, -1 as change
    from stays
    where from_at < until_at and until_at <= (select as_of from clock)
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
