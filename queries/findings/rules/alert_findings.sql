-- One row per alert that somebody should have been told of and was not: alert_undelivered.
-- in: other_findings
-- key: seq
--
-- rule: alert_undelivered
-- place: 320
-- severity: breach, risk
-- alarms: no
-- name: Alert not delivered
-- means: Somebody should have been notified of it and was not: a deadline may pass unseen.
-- remedy: Correct the recipient's channel, test it, and see to what the alert is about.

with told as (
    select distinct alert_id, recipient from alert_steps where step = 'sent'
),

missed as (
    select alert_id, recipient, process_id, seller_id, seq, step_at
    from alert_steps
    where step = 'undelivered'
        and (alert_id, recipient) not in (from told)
)

select
    'alert_undelivered' as rule,
    if(alert_id in (select alert_id from told), 'risk', 'breach') as severity,
    any_value(process_id) as process_id,
    any_value(seller_id) as seller_id,
    min(seq) as seq,
    string_agg(distinct recipient, ', ' order by recipient) as detail,
    min(step_at) as found_at
from missed
group by alert_id
