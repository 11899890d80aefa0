-- One row per finding that calls for somebody, found not long ago: breaches, and what the settings name
-- beside them (docs/alerts.md#conditions), but for those of failed attempts (`recent_failures`).
-- reads: delivery_findings, rejection_findings
-- key: rule, seq, process_id, detail
-- column: rule | the broken rule (docs/rules.md#findings)
-- column: severity | breach or risk
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about, where the rule knows
-- column: seq | the entry that shows it
-- column: detail | what exactly; empty where the rule says it all
-- column: found_at | when it became true

-- Of no breach: `expired_unfinished`, which the ladder says, and `alert_undelivered`, of which nobody can be
-- told. Their headers say `alarms: no`.
from found
where severity = 'breach' and may_alert(found_at) and contains(alert_rules().conditions, 'breach')
union all
from delivery_findings
where rule = 'quarantined'
    and may_alert(found_at)
    and contains(alert_rules().conditions, 'quarantined')
union all
from rejection_findings where may_alert(found_at) and contains(alert_rules().conditions, rule)
