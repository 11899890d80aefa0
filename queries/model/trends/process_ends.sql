-- One row per review process that was finished or had its deadline by as_of, whichever was first: who had
-- it then, and how its seller had last been contacted (docs/rules.md#over-time).
-- key: process_id
-- column: ended_at | the earlier of the two
-- column: assignee | staff | who had it assigned then; null where nobody had
-- column: channel | text | of the last contact by then that stands; null where there was none

with ends as (
    select *, least(finished_at, deadline_at) as ended_at
    from due_processes
    where least(finished_at, deadline_at) <= as_of()
),

assigned as (
    -- In a struct: a null says that nobody had it any more.
    select
        ends.process_id,
        arg_max(struct_pack(assignee), struct_pack(assigned_at, seq)).assignee as assignee
    from ends
    join said_assignments as said on said.process_id = ends.process_id and assigned_at <= ended_at
    group by ends.process_id
),

contacted as (
    select
        ends.process_id,
        arg_min(channel, contact_order(contacted_at, channel, message_id)) as channel
    from ends
    join contacts on contacts.process_id = ends.process_id and contacted_at <= ended_at
    where withdrawn_at is null
    group by ends.process_id
)

select
    ends.process_id,
    review_type,
    deadline_at,
    finished_at,
    fate,
    is_due,
    ended_at,
    assignee,
    channel
from ends
left join assigned on assigned.process_id = ends.process_id
left join contacted on contacted.process_id = ends.process_id
