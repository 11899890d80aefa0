-- One row: the figures at the head of the overview.
-- open to: analysts
-- key: as_of
-- column: as_of | the instant of the figures
-- column: processes | review processes known, of whatever state
-- column: expired | EXPIRED processes
-- column: expired_change | how many more than at the end of the UTC day seven days ago
-- column: overdue | OVERDUE processes
-- column: overdue_change | how many more than at the end of the UTC day seven days ago
-- column: due_within_7_days | unfinished processes due in the 7 days to come
-- column: due_within_24_hours | those of them due in the 24 hours to come
-- column: next_deadline_at | the nearest deadline of an unfinished process that has not passed; null where there is none
-- column: quarantined | deliveries in quarantine that are not replayed yet
-- column: denial_share | sellers denied / sellers decided, over the last 7 days; null over nothing
-- column: denial_share_change | that share minus the one of the 7 days before

with standing as (
    select
        count(*) as processes,
        count(*) filter (where state = 'EXPIRED') as expired,
        count(*) filter (where state = 'OVERDUE') as overdue,
        count(*) filter (where days_to_deadline between 0 and 6) as due_within_7_days,
        count(*) filter (where days_to_deadline = 0 and deadline_at > as_of()) as due_within_24_hours,
        min(deadline_at) filter (where deadline_at > as_of() and state <> 'FINISHED') as next_deadline_at
    from process_state
),

week_ago as (
    select max(expired) as expired, max(overdue) as overdue
    from state_stretches, clock
    where cast(clock.as_of as date) - 7 between first_day and last_day
),

onboarding as (
    select
        max(denial_share) as denial_share,
        max(change) as denial_share_change
    from (
        select
            *,
            denial_share - lag(denial_share) over (order by ends_on) as change
        from onboarding_weeks
    )
    where ends_on = (select cast(as_of as date) from clock)
)

select
    as_of,
    processes,
    standing.expired,
    standing.expired - coalesce(week_ago.expired, 0) as expired_change,
    standing.overdue,
    standing.overdue - coalesce(week_ago.overdue, 0) as overdue_change,
    due_within_7_days,
    due_within_24_hours,
    next_deadline_at,
    (select count(*) from quarantine where replayed_as is null) as quarantined,
    denial_share,
    denial_share_change
from clock, standing, week_ago, onboarding
