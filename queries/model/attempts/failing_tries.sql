-- One row per process whose last try was given up, or whose last attempt the platform could not
-- process: what may call for a support ticket (docs/rules.md#submission-attempts).
-- reads: tries
-- key: process_id
-- column: process_id | the review process
-- column: is_given_up | the try was given up
-- column: platform_errors | how many attempts in a row ended as platform_error, up to the last; 0 where the last did not
-- column: began_at | when the first of these started
-- column: ended_at | when the last of these ended

with last_tries as (
    select process_id, try_number, is_given_up
    from tries
    where is_last and (is_given_up or outcome = 'platform_error')
),

attempts_of as (
    select
        tries.process_id,
        last_tries.is_given_up,
        tries.ordered_at,
        tries.outcome_at,
        bool_and(tries.outcome = 'platform_error') over (
            partition by tries.process_id order by tries.attempt_of_try desc
        ) as is_of_run
    from last_tries
    join tries
        on tries.process_id = last_tries.process_id and tries.try_number = last_tries.try_number
)

select
    process_id,
    any_value(is_given_up) as is_given_up,
    count(*) filter (where is_of_run) as platform_errors,
    min(ordered_at) filter (where is_of_run) as began_at,
    max(outcome_at) filter (where is_of_run) as ended_at
from attempts_of
group by process_id
