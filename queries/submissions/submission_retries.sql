-- One row: how often the first attempt was enough, and how often a retry succeeded after a failure
-- (docs/rules.md#denials). Refusals were never sent and count nowhere.
-- open to: analysts
-- key: processes
-- column: processes | processes with an attempt
-- column: first_try_accepted | those whose first attempt was answered 200
-- column: first_try_acceptance | first_try_accepted / processes; null over nothing
-- column: with_failure | processes with a failed attempt: started before any 200, and ended otherwise; unknown too
-- column: accepted_after_failure | those accepted all the same
-- column: success_after_retry | accepted_after_failure / with_failure; null over nothing

select
    count(*) as processes,
    count(*) filter (where is_accepted_at_first) as first_try_accepted,
    count(*) filter (where is_accepted_at_first) / nullif(count(*), 0) as first_try_acceptance,
    count(failed_at) as with_failure,
    count(failed_at) filter (where accepted_at is not null) as accepted_after_failure,
    count(failed_at) filter (where accepted_at is not null) / nullif(count(failed_at), 0)
        as success_after_retry
from submitted_processes
