-- One row: the figures at the head of the overview.
-- reads: process_state, onboarding_decisions, clock
-- key: as_of
-- column: as_of | the instant of the figures
-- column: processes | review processes known, of whatever state
-- column: expired | EXPIRED processes
-- column: overdue | OVERDUE processes
-- column: due_within_7_days | unfinished processes due in the 7 days to come
-- column: due_within_24_hours | those of them due in the 24 hours to come
-- column: denial_share | sellers denied / sellers decided, over the last 30 days
-- column: denial_share_change | that share minus the same one 30 days earlier

with standing as (
    select
        count(*) as processes,
        count(*) filter (where state = 'EXPIRED') as expired,
        count(*) filter (where state = 'OVERDUE') as overdue,
        count(*) filter (where days_to_deadline between 0 and 6) as due_within_7_days,
        count(*) filter (where days_to_deadline = 0) as due_within_24_hours
    from process_state
),

onboarding as (
    select
        sum(denied) filter (where is_recent) / nullif(sum(decided) filter (where is_recent), 0)
            as denial_share,
        sum(denied) filter (where not is_recent)
            / nullif(sum(decided) filter (where not is_recent), 0) as earlier_share
    from (
        select *, day > (select cast(as_of as date) - 30 from clock) as is_recent
        from onboarding_decisions
    )
)

select
    as_of,
    processes,
    expired,
    overdue,
    due_within_7_days,
    due_within_24_hours,
    denial_share,
    denial_share - earlier_share as denial_share_change
from clock, standing, onboarding
