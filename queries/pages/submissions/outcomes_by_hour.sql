-- One row per hour of the day and outcome: submission attempts that started in that hour, of the 28 days before as_of
-- (docs/rules.md#over-time), so that each day of the week counts four times.
-- open to: analysts
-- key: hour, outcome
-- column: hour | of the day, in UTC, from 0 to 23
-- column: attempts | how many
-- column: share | of the attempts of that hour
-- column: most_of_one | that hour's failed attempts, of any outcome, of the process that has most of them; 0 without any
-- column: most_of | id | that process, the first by id of several; null without any

with hours_of_processes as (
    select
        hour(ordered_at) as hour,
        process_id,
        outcome,
        count(*) as attempts
    from attempts
    where outcome <> 'refused' and ordered_at > as_of() - interval 28 day and ordered_at <= as_of()
    group by all
),

counted as (
    select
        hour,
        outcome,
        cast(sum(attempts) as bigint) as attempts
    from hours_of_processes
    group by hour, outcome
),

failing as (
    select
        hour,
        process_id,
        cast(sum(attempts) as bigint) as failed
    from hours_of_processes
    where outcome not in ('accepted', 'in_flight')
    group by hour, process_id
),

most as (
    select
        hour,
        max(failed) as most_of_one,
        arg_min(process_id, struct_pack(fewer := -failed, process_id)) as most_of
    from failing
    group by hour
)

select
    hour,
    outcome,
    attempts,
    attempts / sum(attempts) over (partition by hour) as share,
    coalesce(most_of_one, 0) as most_of_one,
    most_of
from counted
left join most using (hour)
