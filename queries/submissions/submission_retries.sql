-- One row: how often the first attempt was enough, and how often a retry succeeded after a failure
-- (docs/rules.md#denials). Refusals were never sent and count nowhere.
-- reads: attempt_facts
-- key: processes
-- order: processes
-- column: processes | processes with an attempt
-- column: first_try_accepted | those whose first attempt was answered 200
-- column: first_try_acceptance | first_try_accepted / processes; null over nothing
-- column: with_failure | processes with a failed attempt: started before any 200, and ended otherwise; unknown too
-- column: accepted_after_failure | those accepted all the same
-- column: success_after_retry | accepted_after_failure / with_failure; null over nothing

with sent as (
    select process_id, attempt_number, is_last, outcome, ordered_at, finished_at
    from attempt_facts
    where attempt_number is not null
),

firsts as (
    select process_id, min(finished_at) as accepted_at
    from sent
    where outcome = 'accepted'
    group by process_id
),

failed as (
    -- What was still under way when a 200 came, or started after it, is not a failure.
    select distinct sent.process_id, accepted_at is not null as is_accepted
    from sent
    left join firsts on firsts.process_id = sent.process_id
    where outcome not in ('accepted', 'in_flight')
        and coalesce(ordered_at < accepted_at, true)
),

counts as (
    select
        count(*) filter (where is_last) as processes,
        count(*) filter (where attempt_number = 1 and outcome = 'accepted') as first_try_accepted,
        (select count(*) from failed) as with_failure,
        (select count(*) from failed where is_accepted) as accepted_after_failure
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
