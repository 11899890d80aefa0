-- One row per place of an attempt among those of its process, and outcome. The fifth place stands
-- for every later one as well.
-- open to: analysts
-- key: place, outcome
-- column: place | 1 for first attempts, up to 5 for the fifth and every later one
-- column: attempts | how many
-- column: share | of the attempts at that place

with placed as (
    select least(attempt_number, 5) as place, outcome, count(*) as attempts
    from attempt_facts
    where attempt_number is not null
    group by all
)

select place, outcome, attempts, attempts / sum(attempts) over (partition by place) as share
from placed
