-- One row per 24 hours of the 7 days after as_of: unfinished processes due in them.
-- open to: analysts
-- key: days_to_deadline
-- order: range
-- column: days_to_deadline | whole days from as_of to the deadline, 0 to 6
-- column: due | unfinished processes due then

with coming as (
    select days_to_deadline, count(*) as due
    from process_state
    where days_to_deadline between 0 and 6
    group by days_to_deadline
)

select range as days_to_deadline, coalesce(due, 0) as due
from range(7)
left join coming on coming.days_to_deadline = range
