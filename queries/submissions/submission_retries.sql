-- One row: how often the first attempt was enough, and how often a retry mended a failure
-- (rules.md section 7). Refusals were never sent and count nowhere.
-- reads: attempts
-- key: processes
-- column: processes | processes with an attempt
-- column: first_try_accepted | those whose first attempt was answered 200
-- column: first_try_acceptance | first_try_accepted / processes; null over nothing
-- column: with_failure | processes with a failed attempt: ended otherwise than accepted; unknown too
-- column: accepted_after_failure | those accepted by a later attempt
-- column: success_after_retry | accepted_after_failure / with_failure; null over nothing

with ordered as (
    select
        process_id,
        outcome,
        struct_pack(ordered_at, attempt_id) as place
    from attempts
    where outcome <> 'refused'
),

by_process as (
    select
        arg_min(outcome, place) = 'accepted' as is_first_accepted,
        min(place) filter (where outcome not in ('accepted', 'in_flight')) as first_failure,
        max(place) filter (where outcome = 'accepted') as last_acceptance
    from ordered
    group by process_id
),

counts as (
    select
        count(*) as processes,
        count(*) filter (where is_first_accepted) as first_try_accepted,
        count(first_failure) as with_failure,
        count(*) filter (where last_acceptance > first_failure) as accepted_after_failure
    from by_process
)

select
    processes,
    first_try_accepted,
    first_try_accepted / nullif(processes, 0) as first_try_acceptance,
    with_failure,
    accepted_after_failure,
    accepted_after_failure / nullif(with_failure, 0) as success_after_retry
from counts
