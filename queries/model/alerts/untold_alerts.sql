-- One row per alert of which somebody was to be told, and nobody was yet: each try has failed so far, or
-- was cut off. A message may have brought a link for the seller with it, so that it is the seller's turn
-- by the log, though nobody has the link. None where the variable `unraised` is set: whatever was tried
-- was raised, and is left out there anyhow.
-- reads: facts.actions
-- key: alert_id
-- column: alert_id | the alert

select content ->> '$.alert' as alert_id
from facts.actions
where not coalesce(getvariable('unraised'), false)
    and kind = 'alert'
    and occurred_at <= as_of()
    and occurred_at > alerts_from()
group by alert_id
having bool_or(step = 'tried') and not bool_or(step in ('sent', 'acknowledged'))
