-- One row per outcome: the attempts that came to it, refusals included.
-- open to: analysts
-- reads: attempts
-- key: outcome
-- order: outcome
-- column: outcome | word | what became of the attempts (docs/rules.md#outcomes)
-- column: attempts | how many

select outcome, count(*) as attempts
from attempts
group by outcome
