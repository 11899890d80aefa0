-- One row per decision about the schedule of seller notices, by as_of: for all, for a seller or for a process
-- (docs/rules.md#schedules). What a file says is about another log's schedule, but for a seller or a process.
-- Where a log is restored, or a copy of it taken into use, nothing runs.
-- key: seq
-- column: seq | the entry
-- column: occurred_at | when it was decided
-- column: process_id | the process that it is about; null where it is about more
-- column: seller_id | the seller whom it is about; null where it is about a process, or all
-- column: step | started, held, released or stopped
-- column: actor | staff | who decided it
-- column: reason | text | why
-- column: wish | of a stop by the seller: not_me or stop_writing; null of any other
-- column: is_wish | of what was decided here: the seller wishes no more messages; false where a person released them; null of all else
-- column: has_backlog | of a start: processes that were known before are in it, too
-- column: schedules | of a start: the rungs for each type of review; null type: each that is not named

select
    seq,
    occurred_at,
    process_id,
    seller_id,
    if(kind = 'restoration', 'stopped', step) as step,
    actor,
    reason,
    case when step = 'stopped' and reason in ('not_me', 'stop_writing') then reason end as wish,
    case
        when origin <> 'live' then null
        when wish is not null then true
        when step = 'released' then false
    end as is_wish,
    coalesce(cast(content ->> '$.backlog' as boolean), false) as has_backlog,
    case when step = 'started' then schedules_of(content -> '$.schedules') end as schedules
from fact_actions
where kind in ('notice_schedule', 'restoration')
    and step is distinct from 'claimed'
    and occurred_at <= as_of()
    and (origin = 'live' or process_id is not null or seller_id is not null)
