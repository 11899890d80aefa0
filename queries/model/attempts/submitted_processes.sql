-- One row per process with an attempt that was sent: how its submission went (docs/rules.md#denials).
-- key: process_id
-- column: first_attempt_at | what orders its first attempt: the start, else the finish
-- column: is_accepted_at_first | its first attempt was answered 200
-- column: accepted_at | its first answer 200; null without one
-- column: failed_at | what orders its first failed attempt, which started before any 200 and ended otherwise, unknown too; null without one
-- column: failed_outcome | word | what that one came to; null without one
-- column: seconds_to_acceptance | from failed_at to accepted_at; null without both

with sent as (
    select
        process_id,
        min(ordered_at) as first_attempt_at,
        bool_or(attempt_number = 1 and outcome = 'accepted') as is_accepted_at_first,
        min(finished_at) filter (where outcome = 'accepted') as accepted_at,
        min(ordered_at) filter (where outcome not in ('accepted', 'in_flight')) as failed_at,
        arg_min(outcome, attempt_number) filter (where outcome not in ('accepted', 'in_flight'))
            as failed_outcome
    from attempt_facts
    where attempt_number is not null
    group by process_id
)

select
    process_id,
    first_attempt_at,
    is_accepted_at_first,
    accepted_at,
    case when coalesce(failed_at < accepted_at, true) then failed_at end as failed_at,
    case when coalesce(failed_at < accepted_at, true) then failed_outcome end as failed_outcome,
    case when failed_at < accepted_at then (epoch_us(accepted_at) - epoch_us(failed_at)) / 1e6 end
        as seconds_to_acceptance
from sent
