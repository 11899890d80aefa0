-- One row per outcome: the attempts that came to it, refusals included.
-- open to: analysts
-- key: outcome
-- column: attempts | how many

select outcome, count(*) as attempts
from attempts
group by outcome
