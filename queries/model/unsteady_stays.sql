-- One row per stay of a process in a state, of the processes whose events took the state back, or
-- ahead of its clock: what was known of these has to be worked out receipt by receipt.
-- key: process_id, state, from_at
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

receipts as (
    select
        process_id,
        occurred_at as from_at,
        lead(occurred_at) over (partition by process_id order by occurred_at) as until_at
    from (select distinct process_id, occurred_at from events)
),

known as (
    -- What each instant of receipt knew. Without a deadline, a report counts for that of the latest
    -- event before it that carries one.
    select
        receipts.process_id,
        receipts.from_at,
        receipts.until_at,
        events.* exclude (process_id),
        struct_pack(created_at, occurred_at, event_id, content_sha256) as place,
        last_value(deadline_at ignore nulls) over (
            partition by receipts.process_id, receipts.from_at
            order by created_at, occurred_at, event_id, content_sha256
        ) as counts_for
    from receipts
    join events
        on events.process_id = receipts.process_id and events.occurred_at <= receipts.from_at
),

versions as (
    -- A process as each instant of receipt left it, until the next one.
    select
        process_id,
        from_at,
        any_value(until_at) as until_at,
        min(created_at) as opened_at,
        contract.review_type(arg_min(coalesce(object_type, ''), place)) as review_type,
        arg_max(deadline_at, place) as carried_at,
        list(struct_pack(counts_for, gravity := gravity(status)))
            filter (where gravity(status) > 1) as grave_reports
    from known
    group by process_id, from_at
),

dated as (
    select
        *,
        contract_deadline(carried_at, opened_at, review_type) as deadline_at,
        overdue_instant(carried_at, opened_at, review_type) as overdue_at
    from versions
),

graded as (
    -- A report only counts for its own deadline.
    select
        *,
        list_max([
            report.gravity for report in grave_reports
            if report.counts_for is null or report.counts_for = deadline_at
        ]) as gravest
    from dated
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
            when graded.gravest >= 2 or contract.pending_days(graded.review_type) = 0
                then graded.from_at
            else graded.overdue_at
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
