-- One row per sum that two views give differently (docs/rules.md#other-views).
-- key: what
-- column: what | the sum
-- column: by_process | as process_state has it
-- column: elsewhere | as the other view has it

with by_process as (
    select
        count(*) filter (where state in ('OVERDUE', 'EXPIRED')) as late,
        count(*) filter (where state in ('PENDING', 'OVERDUE', 'EXPIRED')) as unfinished,
        -- Of a review that names no seller none has it among his open ones.
        count(*) filter (
            where state in ('PENDING', 'OVERDUE', 'EXPIRED') and seller_id is not null
        ) as unfinished_of_sellers,
        count(*) filter (where state = 'EXPIRED') as expired,
        count(*) filter (where state = 'FINISHED' and opened_at is not null) as finished,
        coalesce(sum(attempts), 0) as attempts,
        -- By a platform's clock that is ahead, even the first may be opened on a day to come.
        cast(min(opened_at) as date) <= cast(as_of() as date) as has_a_day
    from process_state
),

last_day as (
    select
        coalesce(arg_max(pending + overdue + expired, day), 0) as unfinished,
        coalesce(arg_max(expired, day), 0) as expired,
        coalesce(arg_max(finished, day), 0) as finished
    from state_daily
),

sums as (
    select 'late processes on the watchlist' as what, late as by_process,
        (select count(*) from watchlist) as elsewhere
    from by_process
    union all
    select 'unfinished processes in the calendar', unfinished,
        (select coalesce(sum(due), 0) from deadline_calendar)
    from by_process
    union all
    select 'unfinished processes of sellers', unfinished_of_sellers,
        (select coalesce(sum(open_processes), 0) from seller_state)
    from by_process
    union all
    select 'unfinished processes at the end of the last day', by_process.unfinished,
        last_day.unfinished
    from by_process, last_day where has_a_day
    union all
    select 'expired processes at the end of the last day', by_process.expired, last_day.expired
    from by_process, last_day where has_a_day
    union all
    select 'finished processes at the end of the last day', by_process.finished, last_day.finished
    from by_process, last_day where has_a_day
    union all
    select 'attempts by day', attempts,
        (select coalesce(sum(attempts), 0) from submission_outcomes)
    from by_process
)

select what, by_process, elsewhere
from sums
where by_process <> elsewhere
