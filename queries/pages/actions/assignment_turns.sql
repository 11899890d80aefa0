-- One row per person to whom the rule of assignment gave a review, or to whoever stood in for them.
-- key: person
-- column: person | staff | whose turn it was
-- column: seq | the entry of the last one

select content ->> '$.turn_of' as person, max(seq) as seq
from fact_actions
where kind = 'assignment'
    and content ->> '$.turn_of' is not null
    and occurred_at <= as_of()
group by person
