-- One row per hour of the day and outcome: submission attempts that started in that hour, of the 28 days before as_of
-- (docs/rules.md#over-time), so that each day of the week counts four times.
-- open to: analysts
-- key: hour, outcome
-- column: hour | of the day, in UTC, from 0 to 23
-- column: attempts | how many
-- column: share | of the attempts of that hour

with counted as (
    select
        hour(ordered_at) as hour,
        outcome,
        count(*) as attempts
    from attempts
    where outcome <> 'refused' and ordered_at > as_of() - interval 28 day and ordered_at <= as_of()
    group by all
)

select hour, outcome, attempts, attempts / sum(attempts) over (partition by hour) as share
from counted
