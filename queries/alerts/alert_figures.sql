-- One row per severity: how many alerts are due, and for how long nobody has said that they see to it.
-- reads: alerts, facts.actions
-- key: severity
-- order: case severity when 'breach' then 1 when 'risk' then 2 else 3 end
-- column: severity | breach, risk or notice
-- column: due | alerts that are due
-- column: unacknowledged | those of them that nobody has acknowledged
-- column: oldest_since | since when the oldest of these is due; null where there is none

with acknowledged as (
    -- An alert is acknowledged no earlier than it is due, so older steps need not be read.
    select distinct content ->> '$.alert' as alert_id
    from facts.actions
    where kind = 'alert'
        and step = 'acknowledged'
        and occurred_at <= as_of()
        and occurred_at > alerts_from()
),

counted as (
    select
        severity,
        count(*) as due,
        count(*) filter (where acknowledged.alert_id is null) as unacknowledged,
        min(since) filter (where acknowledged.alert_id is null) as oldest_since
    from alerts
    left join acknowledged on acknowledged.alert_id = alerts.alert_id
    group by severity
)

select
    severity,
    coalesce(due, 0) as due,
    coalesce(unacknowledged, 0) as unacknowledged,
    oldest_since
from (select unnest(['breach', 'risk', 'notice']) as severity) severities
left join counted using (severity)
