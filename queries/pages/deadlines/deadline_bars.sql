-- One row per UTC day and urgency of the deadlines of unfinished processes. Days more than 30 days
-- before as_of are one row, dated the day before that window.
-- open to: analysts
-- key: day, urgency
-- column: day | UTC day of the deadline
-- column: urgency | word | late, soon (within 7 days) or later
-- column: is_older | stands for every day before the window
-- column: due | unfinished processes due that day

with dated as (
    select
        cast(deadline_at as date) as day,
        cast(as_of as date) - 31 as before_window,
        case
            when state = 'EXPIRED' or deadline_at <= as_of then 'late'
            when days_to_deadline < 7 then 'soon'
            else 'later'
        end as urgency
    from process_state, clock
    where state in ('PENDING', 'OVERDUE', 'EXPIRED')
)

select
    greatest(day, before_window) as day,
    urgency,
    day <= before_window as is_older,
    count(*) as due
from dated
group by all
