-- One row per state and review type of unfinished processes: how many they are, for those who watch.
-- open to: analysts
-- key: state, review_type
-- order: state, review_type nulls last
-- column: state | word | PENDING, OVERDUE, EXPIRED or UNKNOWN
-- column: processes | unfinished processes
-- column: due_within_7_days | those due in the 7 days to come
-- column: late | those whose deadline has passed

select
    state,
    review_type,
    count(*) as processes,
    count(*) filter (where days_to_deadline between 0 and 6) as due_within_7_days,
    count(*) filter (where deadline_at <= as_of()) as late
from process_state
where state <> 'FINISHED'
group by state, review_type
