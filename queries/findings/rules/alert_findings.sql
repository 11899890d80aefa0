-- One row per alert that somebody should have been told of and was not: alert_undelivered.
-- reads: alert_steps
-- key: seq
-- column: rule | the broken rule (docs/rules.md#findings)
-- column: severity | breach where nobody was told of it at all, else risk
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about, where the rule knows; views over it add the process's
-- column: seq | the entry that shows it
-- column: detail | who was not told, by their names in the settings; empty where there is nobody to tell
-- column: found_at | when it became true

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
