-- One row per process whose last try was given up, or whose last attempt the platform could not
-- process: what may call for a support ticket (docs/rules.md#submission-attempts).
-- reads: clocked_attempts
-- key: process_id
-- column: process_id | the review process
-- column: is_given_up | the try was given up, even if it was sent once more since
-- column: platform_errors | how many attempts in a row ended as platform_error, up to the last; 0 where the last did not
-- column: began_at | when the first of these started
-- column: ended_at | when the last of these to start ended

select
    process_id,
    is_given_up or was_given_up as is_given_up,
    failures as platform_errors,
    failing_since as began_at,
    outcome_at as ended_at
from clocked_attempts
where is_last and (is_given_up or was_given_up or outcome = 'platform_error')
