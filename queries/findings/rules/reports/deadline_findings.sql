-- One row per process that the clock makes a finding: expired_unfinished, and overdue_unstarted after
-- 24 hours in which no journey was opened.
-- in: findings
-- key: rule, process_id
--
-- rule: expired_unfinished
-- place: 10
-- severity: breach
-- alarms: no
-- name: Expired, unfinished
-- fault: seller
-- remedy: Collect from the seller and submit: the platform still accepts it.
--
-- rule: overdue_unstarted
-- place: 280
-- severity: risk
-- name: OVERDUE, journey not started
-- means: The seller has not been asked, and the deadline keeps running.
-- remedy: Start a collection journey.

with late as (
    select *
    from process_facts
    -- A deadline before the opening comes before the process is overdue.
    where finished_at is null and (overdue_from <= as_of() or expired_from <= as_of())
)

select
    'expired_unfinished' as rule,
    'breach' as severity,
    process_id,
    seller_id,
    expired_found_seq as seq,
    '' as detail,
    expired_found_at as found_at
from late
where expired_from <= as_of()
union all
select
    'overdue_unstarted' as rule,
    'risk' as severity,
    process_id,
    seller_id,
    overdue_found_seq as seq,
    '' as detail,
    overdue_found_at + interval 24 hour as found_at
from late
where expired_from > as_of()
    and journey_opened_at is null
    and overdue_found_at + interval 24 hour <= as_of()
