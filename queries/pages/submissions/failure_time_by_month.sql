-- One row per month and outcome of the first failed attempts of processes: how many these are, and how long it took
-- until they were accepted (docs/rules.md#over-time).
-- open to: analysts
-- key: month, failed_outcome
-- column: month | UTC month of the first failed attempt, its first day
-- column: processes | processes whose first failed attempt was in it and ended so
-- column: accepted | those of them that have been accepted since
-- column: seconds | from the first failed attempt of these to their first 200, summed; null over nothing
-- column: seconds_once | the same, where what several waited at once counts once; null over nothing
-- column: median_seconds_to_acceptance | of these: the median by nearest rank; null over nothing
-- column: seconds_unaccepted | from the first failed attempt of those that have not been accepted to as_of, summed; null over nothing
-- column: is_retryable | the outcome is one after which the same payload is sent again, and so not our payload's

with waits as (
    select
        cast(date_trunc('month', failed_at) as date) as month,
        failed_outcome,
        seconds_to_acceptance,
        epoch_us(failed_at) as begins,
        if(seconds_to_acceptance is not null, epoch_us(accepted_at), null) as ends,
        max(ends) over (
            partition by month, failed_outcome
            order by failed_at, process_id
            rows between unbounded preceding and 1 preceding
        ) as covered_to
    from submitted_processes
    where failed_at is not null
)

select
    month,
    failed_outcome,
    count(*) as processes,
    count(ends) as accepted,
    sum(ends - begins) / 1e6 as seconds,
    sum(greatest(ends - greatest(begins, covered_to), 0)) filter (where ends is not null) / 1e6 as seconds_once,
    quantile_disc(seconds_to_acceptance, 0.5) as median_seconds_to_acceptance,
    sum(epoch_us(as_of()) - begins) filter (where ends is null) / 1e6 as seconds_unaccepted,
    is_retryable(failed_outcome) as is_retryable
from waits
group by month, failed_outcome
