-- One row: how often the first attempt was enough, and how often a retry mended a failure
-- (rules.md section 7). Refusals were never sent and count nowhere.
-- reads: attempt_facts
-- key: processes
-- column: processes | processes with an attempt
-- column: first_try_accepted | those whose first attempt was answered 200
-- column: first_try_acceptance | first_try_accepted / processes; null over nothing
-- column: with_failure | processes with a failed attempt: ended otherwise than accepted; unknown too
-- column: accepted_after_failure | those accepted by a later attempt
-- column: success_after_retry | accepted_after_failure / with_failure; null over nothing

with sent as (
    select process_id, attempt_number, is_last, outcome
    from attempt_facts
    where attempt_number is not null
),

failed as (
    select process_id, min(attempt_number) as first_failure
    from sent
    where outcome not in ('accepted', 'in_flight')
    group by process_id
),

mended as (
    select distinct failed.process_id
    from failed
    join sent on sent.process_id = failed.process_id
    where sent.outcome = 'accepted' and sent.attempt_number > failed.first_failure
),

counts as (
    select
        count(*) filter (where is_last) as processes,
        count(*) filter (where attempt_number = 1 and outcome = 'accepted') as first_try_accepted,
        (select count(*) from failed) as with_failure,
        (select count(*) from mended) as accepted_after_failure
    from sent
)

select
    processes,
    first_try_accepted,
    first_try_accepted / nullif(processes, 0) as first_try_acceptance,
    with_failure,
    accepted_after_failure,
    accepted_after_failure / nullif(with_failure, 0) as success_after_retry
from counts
