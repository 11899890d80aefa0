-- One row per unfinished review process, the lowest chance to be finished in time first (docs/rules.md#forecast). Those
-- without a chance come last: they are EXPIRED, or too little is known.
-- key: process_id
-- order: chance nulls last, savable_order(open_processes.deadline_at, as_of()) nulls last, open_processes.process_id

select
    open_processes.*,
    chance,
    chance_low,
    chance_high,
    why_not
from open_processes
left join forecast on forecast.process_id = open_processes.process_id
