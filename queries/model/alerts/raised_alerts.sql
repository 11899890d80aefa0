-- One row per alert that was raised not long ago. One is raised no earlier than it is due, so those that
-- are due are not among older ones.
-- reads: facts.actions
-- key: alert_id
-- column: alert_id | the alert

select distinct content ->> '$.alert' as alert_id
from facts.actions
where kind = 'alert'
    and step = 'raised'
    and occurred_at <= as_of()
    and occurred_at > as_of() - to_hours(alert_rules().look_back)
