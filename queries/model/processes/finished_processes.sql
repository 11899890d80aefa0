-- One row per finished process: since when it is, and by whom (docs/rules.md#review-processes).
-- key: process_id
-- column: finished_at | the first end of an attempt answered 200 or creation of a report of FINISHED; null until then
-- column: finished_by | word | submission or platform, whichever was first; on a tie, submission
-- column: finished_known_at | when it was first known to be finished: the answer, or the receipt of a report

with accepted as (
    select process_id, min(finished_at) as finished_at
    from attempts
    where outcome = 'accepted'
    group by process_id
),

reported as (
    select process_id, min(created_at) as finished_at, min(occurred_at) as received_at
    from review_events
    where status = 'FINISHED'
    group by process_id
)

select
    coalesce(accepted.process_id, reported.process_id) as process_id,
    least(accepted.finished_at, reported.finished_at) as finished_at,
    case
        when coalesce(accepted.finished_at <= reported.finished_at, reported.finished_at is null)
            then 'submission'
        else 'platform'
    end as finished_by,
    least(accepted.finished_at, reported.received_at) as finished_known_at
from accepted
full join reported on reported.process_id = accepted.process_id
