-- One row per process whose seller nobody contacted in time (docs/rules.md#seller-notices): never_notified,
-- where the deadline passed without, and notified_late, where half of the time did. A log from before the
-- first seller notice does not say how sellers were notified.
-- in: findings
-- key: rule, process_id
--
-- rule: never_notified
-- place: 25
-- severity: breach
-- alarms: no
-- name: Seller never notified
-- fault: marketplace
-- remedy: Ask the seller now, record each contact, and look for what kept the messages back.
--
-- rule: notified_late
-- place: 285
-- severity: risk
-- name: Seller notified late
-- means: The seller had less than half of the time to answer.
-- remedy: Ask the seller now, and let the schedule begin on the first day.

with judged as (
    select processes.*
    from clocked_processes as processes
    join first_notice on processes.opened_at >= first_at
    where coalesce(unnotified_from, late_notice_from) is not null
),

finishes as (
    select process_id, seq from settled_findings where rule = 'finished_late'
)

select
    'never_notified' as rule,
    'breach' as severity,
    judged.process_id,
    seller_id,
    case when state = 'EXPIRED' then expired_found_seq else finishes.seq end as seq,
    '' as detail,
    unnotified_from as found_at
from judged
left join finishes on finishes.process_id = judged.process_id
where unnotified_from is not null and (state = 'EXPIRED' or finished_late)
union all
select
    'notified_late' as rule,
    'risk' as severity,
    process_id,
    seller_id,
    first_received_seq as seq,
    '' as detail,
    late_notice_from as found_at
from judged
where late_notice_from <= as_of()
