-- One row per stay of a process in a state, of the processes whose events took the state back, or
-- ahead of its clock: what was known of these has to be worked out receipt by receipt.
-- reads: review_events, process_facts
-- key: process_id, state, from_at
-- column: process_id | the review process
-- column: state | pending, overdue, expired or finished
-- column: from_at | from when it was known to stand there
-- column: until_at | until when; null while nothing ends it

with unsteady as (
    select process_id, finished_known_at
    from process_facts
    where first_received_at is not null and overdue_since is null
),

events as (
    select * from review_events where process_id in (select process_id from unsteady)
),

versions as (
    -- A process as each instant of receipt left it, until the next one.
    select
        known.process_id,
        known.occurred_at as from_at,
        lead(known.occurred_at) over (
            partition by known.process_id order by known.occurred_at
        ) as until_at,
        min(struct_pack(
            created_at := events.created_at,
            occurred_at := events.occurred_at,
            event_id := events.event_id,
            object_type := events.object_type
        )).object_type = 'REGISTRATION_REVIEW_REQUIRED' as is_acp,
        max(struct_pack(
            created_at := events.created_at,
            occurred_at := events.occurred_at,
            event_id := events.event_id,
            deadline_at := events.deadline_at
        )).deadline_at as deadline_at,
        list(struct_pack(deadline_at := events.deadline_at, gravity := gravity(events.status)))
            filter (where gravity(events.status) > 1) as grave_reports
    from (select distinct process_id, occurred_at from events) as known
    join events
        on events.process_id = known.process_id and events.occurred_at <= known.occurred_at
    group by known.process_id, known.occurred_at
),

graded as (
    -- A report only counts for its own deadline.
    select
        *,
        list_max([
            report.gravity for report in grave_reports if report.deadline_at = deadline_at
        ]) as gravest
    from versions
),

clocks as (
    -- When each state begins, as far as this version goes: by the clock, or at once by a report.
    select
        graded.process_id,
        graded.from_at,
        least(graded.until_at, unsteady.finished_known_at) as until_at,
        unsteady.finished_known_at as finished_from,
        row_number() over (partition by graded.process_id order by graded.from_at) = 1
            as is_first,
        case
            when graded.gravest >= 2 or not graded.is_acp then graded.from_at
            else in_calendar(graded.deadline_at - interval 30 day)
        end as overdue_from,
        case
            when graded.gravest = 3 then graded.from_at
            else graded.deadline_at
        end as expired_from
    from graded
    join unsteady on unsteady.process_id = graded.process_id
),

stays as (
    select
        process_id,
        'pending' as state,
        from_at,
        least(until_at, overdue_from, expired_from) as until_at
    from clocks
    union all
    select
        process_id,
        'overdue' as state,
        greatest(from_at, overdue_from) as from_at,
        least(until_at, expired_from) as until_at
    from clocks
    union all
    select
        process_id,
        'expired' as state,
        greatest(from_at, expired_from) as from_at,
        until_at
    from clocks
    union all
    select
        process_id,
        'finished' as state,
        greatest(from_at, finished_from) as from_at,
        null as until_at
    from clocks
    where is_first and finished_from is not null
)

select process_id, state, from_at, until_at
from stays
where until_at is null or from_at < until_at
