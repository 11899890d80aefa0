-- One row: the figures at the head of the submissions page.
-- open to: analysts
-- key: attempts
-- column: attempts | attempts that were sent
-- column: refused | submissions that our own rules turned down before anything was sent
-- column: retries_pending | attempts whose payload is to be sent again
-- column: given_up | tries that were given up
-- column: recent_attempts | attempts that were sent in the 30 UTC days that end with as_of's
-- column: recent_accepted | those of them that were accepted
-- column: first_try_acceptance | processes whose first attempt was answered 200 / processes with an attempt
-- column: success_after_retry | processes accepted after a failed attempt / processes with a failed attempt
-- column: median_seconds_to_acceptance | from the first failed attempt of those to their first 200: the median by nearest rank; null over nothing

with counted as (
    select
        count(*) filter (where outcome <> 'refused') as attempts,
        count(*) filter (where outcome = 'refused') as refused,
        count(*) filter (where is_retry_pending) as retries_pending,
        count(*) filter (where is_given_up) as given_up,
        count(*) filter (where outcome <> 'refused' and is_recent) as recent_attempts,
        count(*) filter (where outcome = 'accepted' and is_recent) as recent_accepted
    from (
        select *, cast(started_at as date) > cast(as_of as date) - 30 as is_recent
        from clocked_attempts, clock
    )
),

waits as (
    select quantile_disc(seconds_to_acceptance, 0.5) as median_seconds_to_acceptance
    from submitted_processes
)

select
    attempts,
    refused,
    retries_pending,
    given_up,
    recent_attempts,
    recent_accepted,
    first_try_acceptance,
    success_after_retry,
    median_seconds_to_acceptance
from counted, waits, submission_retries
