-- One row per breach (docs/rules.md#findings). Of no breach: `expired_unfinished`, which the ladder says, and
-- `alert_undelivered`, of which nobody can be told. Their headers say `alarms: no`.
-- in: alarming_conditions
-- key: kind, subject
--
-- condition: breach
-- place: 10
-- severity: breach
-- role: officer
-- name: Breach

select
    'breach' as condition,
    rule as kind,
    concat_ws(':', seq, process_id, detail) as subject,
    process_id,
    seller_id,
    found_at as since,
    seq
from found
where severity = 'breach'
