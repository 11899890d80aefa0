-- One row: the figures at the head of the submissions page.
-- reads: submission_attempts, submission_retries
-- key: attempts
-- column: attempts | attempts that were sent
-- column: refused | submissions that our own rules turned down before anything was sent
-- column: retries_pending | attempts whose payload is to be sent again
-- column: given_up | tries that were given up
-- column: first_try_acceptance | processes whose first attempt was answered 200 / processes with an attempt
-- column: success_after_retry | processes accepted after a failed attempt / processes with a failed attempt

with counted as (
    select
        count(*) filter (where outcome <> 'refused') as attempts,
        count(*) filter (where outcome = 'refused') as refused,
        count(*) filter (where is_retry_pending) as retries_pending,
        count(*) filter (where is_given_up) as given_up
    from submission_attempts
)

select
    attempts,
    refused,
    retries_pending,
    given_up,
    first_try_acceptance,
    success_after_retry
from counted, submission_retries
