-- One row per process whose clock ran out or whose deadlines contradict the contract:
-- expired_unfinished, overdue_unstarted, deadline_mismatch and deadline_changed.
-- reads: clock, process_state, review_events, journey_steps
-- key: rule, process_id
-- column: rule | the broken rule (rules.md section 6)
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about, where the rule knows; `findings` adds the process's
-- column: seq | the entry that shows it
-- column: detail | what exactly; empty where the rule says it all
-- column: found_at | when it became true

with suspects as (
    select *
    from process_state
    where state in ('OVERDUE', 'EXPIRED') or deadline_mismatch or deadline_changed
),

reports as (
    -- The events of each process: those that carry its deadline, and the first that does not agree.
    select
        suspects.process_id,
        arg_min(events.seq, place) filter (where events.deadline_at = suspects.deadline_at)
            as first_seq,
        min(events.created_at) filter (where events.deadline_at = suspects.deadline_at)
            as first_at,
        min(struct_pack(place, seq)) filter (
            where events.deadline_at = suspects.deadline_at and events.status = suspects.state
        ) as reported,
        min(struct_pack(place, seq)) filter (where events.deadline_at <> opening.deadline_at)
            as changed
    from suspects
    join (
        select *, struct_pack(created_at, occurred_at, event_id) as place from review_events
    ) as events on events.process_id = suspects.process_id
    join (
        select process_id, arg_min(deadline_at, struct_pack(created_at, occurred_at, event_id))
            as deadline_at
        from review_events
        group by process_id
    ) as opening on opening.process_id = suspects.process_id
    group by suspects.process_id
),

-- A state begins by the clock, or by the first report of it that carries the deadline.
begun as (
    select
        suspects.*,
        reports.first_seq,
        reports.first_at,
        reports.changed,
        least(
            case state when 'EXPIRED' then deadline_at else overdue_at end,
            reports.reported.place.created_at
        ) as since,
        case
            when reports.reported.place.created_at
                < case state when 'EXPIRED' then deadline_at else overdue_at end
                then reports.reported.seq
            else reports.first_seq
        end as since_seq
    from suspects
    join reports on reports.process_id = suspects.process_id
),

started as (
    select distinct process_id
    from journey_steps
    where step in ('opened', 'answered', 'confirmed')
)

select
    'expired_unfinished' as rule,
    'breach' as severity,
    process_id,
    seller_id,
    since_seq as seq,
    '' as detail,
    since as found_at
from begun
where state = 'EXPIRED'
union all
select
    'overdue_unstarted' as rule,
    'risk' as severity,
    process_id,
    seller_id,
    since_seq as seq,
    '' as detail,
    since + interval 24 hour as found_at
from begun
anti join started using (process_id)
where state = 'OVERDUE' and since + interval 24 hour <= (select as_of from clock)
union all
select
    'deadline_mismatch' as rule,
    'risk' as severity,
    process_id,
    seller_id,
    first_seq as seq,
    '' as detail,
    first_at as found_at
from begun
where deadline_mismatch
union all
select
    'deadline_changed' as rule,
    'risk' as severity,
    process_id,
    seller_id,
    changed.seq as seq,
    '' as detail,
    changed.place.created_at as found_at
from begun
where deadline_changed
