-- One row per deadline in a calendar: in that of all, and in that of each assignee
-- (docs/alerts.md#calendar). What was finished, or given to somebody else, stays for 28 days, so that
-- calendars which hold it hear that it is cancelled. What is to come stands before what has passed.
-- key: process_id, assignee
-- order: is_cancelled, deadline_at <= as_of(), abs(epoch_us(deadline_at) - epoch_us(as_of())), process_id, assignee nulls first
-- column: assignee | staff | whose calendar it is in; null for that of all
-- column: state | word | PENDING, OVERDUE, EXPIRED or FINISHED
-- column: is_cancelled | it was finished, or given to somebody else
-- column: sequence | a number that grows with each change of the row: three for each entry of the process, and its state
-- column: changed_at | when it last changed

with assigned as (
    select
        process_id,
        content ->> '$.assignee' as assignee,
        lead(occurred_at) over (partition by process_id order by occurred_at, seq) as until
    from fact_actions
    where kind = 'assignment' and process_id is not null and occurred_at <= as_of()
),

shown as (
    select process_id, assignee, max(coalesce(until, timestamp 'infinity')) as until
    from assigned
    where assignee is not null
    group by process_id, assignee
    having max(coalesce(until, timestamp 'infinity')) > as_of() - interval 28 day
    union all
    select process_id, null as assignee, timestamp 'infinity' as until
    from process_state
),

deadlines as (
    select process_state.*, assignee, until
    from process_state
    join shown on shown.process_id = process_state.process_id
    where deadline_at is not null
        and (finished_at is null or finished_at > as_of() - interval 28 day)
),

entries as (
    select process_id, count(*) as entries, max(occurred_at) as last_at
    from log
    where occurred_at <= as_of() and process_id in (select process_id from deadlines)
    group by process_id
)

select
    assignee,
    deadlines.process_id,
    seller_id,
    review_type,
    state,
    deadline_at,
    finished_at is not null or until <= as_of() as is_cancelled,
    -- The state alone goes back by two at most, and with an entry: a deadline that was put off.
    3 * entries + case state when 'PENDING' then 0 when 'OVERDUE' then 1 else 2 end as sequence,
    least(as_of(), greatest(
        last_at,
        case when state in ('OVERDUE', 'EXPIRED') then overdue_at end,
        case when state = 'EXPIRED' then deadline_at end
    )) as changed_at
from deadlines
join entries on entries.process_id = deadlines.process_id
