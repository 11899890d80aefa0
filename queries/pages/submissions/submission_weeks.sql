-- One row per week of the 12 that end with as_of's UTC day, oldest first: processes that were first
-- submitted in it, and how that went so far (docs/rules.md#denials).
-- open to: analysts
-- key: ends_on
-- column: processes | processes whose first attempt was in it
-- column: first_try_accepted | those whose first attempt was answered 200
-- column: first_try_acceptance | first_try_accepted / processes; null over nothing
-- column: accepted_later | those accepted otherwise
-- column: not_accepted | those without a 200 so far
-- column: with_failure | those with a failed attempt
-- column: accepted_after_failure | those of them that were accepted all the same
-- column: success_after_retry | accepted_after_failure / with_failure; null over nothing
-- column: median_seconds_to_acceptance | from their first failed attempt to their first 200; null over nothing

select
    ends_on,
    count(process_id) as processes,
    count(*) filter (where is_accepted_at_first) as first_try_accepted,
    count(*) filter (where is_accepted_at_first) / nullif(count(process_id), 0)
        as first_try_acceptance,
    count(*) filter (where not is_accepted_at_first and accepted_at is not null) as accepted_later,
    count(process_id) filter (where accepted_at is null) as not_accepted,
    count(failed_at) as with_failure,
    count(failed_at) filter (where accepted_at is not null) as accepted_after_failure,
    count(failed_at) filter (where accepted_at is not null) / nullif(count(failed_at), 0)
        as success_after_retry,
    quantile_disc(seconds_to_acceptance, 0.5) as median_seconds_to_acceptance
from past_weeks
left join submitted_processes
    on cast(first_attempt_at as date) between ends_on - 6 and ends_on
group by ends_on
