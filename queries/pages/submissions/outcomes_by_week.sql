-- One row per ISO week and outcome: submission attempts that started in that week, refusals left out.
-- open to: analysts
-- key: week, outcome
-- column: week | its Monday, in UTC

select
    cast(date_trunc('week', day) as date) as week,
    outcome,
    cast(sum(attempts) as bigint) as attempts
from submission_outcomes
group by all
