-- One row per review process with a support ticket: what was last recorded of it by as_of.
-- key: process_id
-- by: process_id
-- column: process_id | the platform's id of the review process
-- column: step | text | opened or closed; at one instant, closed comes last
-- column: number | number | the number that the platform's support gave it
-- column: recorded_at | when a person opened or closed it
-- column: actor | staff | who did
-- column: seq | the entry that says so

select
    process_id,
    step,
    last_value(content ->> '$.number' ignore nulls) over (
        partition by process_id order by occurred_at, step = 'closed', seq
    ) as number,
    occurred_at as recorded_at,
    actor,
    seq
from fact_actions
where kind = 'ticket'
    and process_id is not null
    and occurred_at <= as_of()
qualify row_number() over (
    partition by process_id
    order by occurred_at desc, step = 'closed' desc, seq desc
) = 1
