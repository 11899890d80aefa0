-- One row per UTC day and outcome: submission attempts that started that day. One whose start is
-- lost counts on the day of its finish; refusals were never sent and count nowhere.
-- open to: analysts
-- key: day, outcome
-- column: day | UTC day of the start
-- column: attempts | how many

select
    cast(ordered_at as date) as day,
    outcome,
    count(*) as attempts
from attempts
where outcome <> 'refused'
group by cast(ordered_at as date), outcome
