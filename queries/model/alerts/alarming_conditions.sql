-- One row per condition that the settings name and that came about not long ago, or per subject of one
-- (docs/alerts.md#conditions).
-- key: kind, subject
-- column: condition | its name in the settings
-- column: kind | the kind of its alert: the name, or of a breach its rule
-- column: subject | what makes it one alert and not another
-- column: process_id | the review process it is about; null where it is about none
-- column: seller_id | the seller it is about; null where it is about none
-- column: since | when it became due
-- column: seq | the entry that shows it

from found
where may_alert(since) and contains(alert_rules().conditions, condition)
