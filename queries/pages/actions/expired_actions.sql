-- One row per next action of processes that are EXPIRED, the most frequent first: what late reviews wait for.
-- open to: analysts
-- key: next_action
-- order: processes desc, next_action
-- column: processes | EXPIRED processes that wait for it
-- column: share | of all that are EXPIRED

select
    next_action,
    count(*) as processes,
    count(*) / sum(count(*)) over () as share
from unfinished_work
where state = 'EXPIRED'
group by next_action
