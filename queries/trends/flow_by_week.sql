-- One row per ISO week in which a review was opened or finished: arrivals against completions.
-- open to: analysts
-- key: week
-- column: week | its Monday, in UTC
-- column: opened | reviews that the platform opened in it
-- column: finished | reviews that were finished in it
-- column: unfinished | those that were opened up to its end and not finished by then: the backlog it leaves

with moves as (
    select opened_at as came_at, true as is_arrival
    from process_facts
    where opened_at is not null
    union all
    select finished_at as came_at, false as is_arrival
    from process_facts
    where opened_at is not null and finished_at is not null
)

select
    cast(date_trunc('week', came_at) as date) as week,
    count(*) filter (where is_arrival) as opened,
    count(*) filter (where not is_arrival) as finished,
    cast(sum(opened - finished) over (order by week) as bigint) as unfinished
from moves
group by week
