-- One row per severity: how many alerts are due, and for how long nobody has seen to the oldest.
-- open to: analysts
-- key: severity
-- order: case severity when 'breach' then 1 when 'risk' then 2 else 3 end
-- column: severity | word | breach, risk or notice
-- column: due | alerts that are due
-- column: unacknowledged | those of them that nobody has acknowledged
-- column: oldest_since | since when the oldest of these is due that nobody has put off; null where there is none

with seen_to as (
    -- An alert is raised no earlier than it is due, so older steps need not be read.
    select
        alert_id,
        bool_or(step = 'acknowledged') as is_acknowledged,
        coalesce(
            snooze_end(
                arg_max(until, seq) filter (step = 'snoozed'),
                min(step_at) filter (step = 'raised')
            ) > as_of(),
            false
        ) as is_put_off
    from alert_steps
    where step in ('raised', 'acknowledged', 'snoozed') and step_at > alerts_from()
    group by alert_id
),

counted as (
    select
        severity,
        count(*) as due,
        count(*) filter (where is_acknowledged is not true) as unacknowledged,
        min(since) filter (where is_acknowledged is not true and is_put_off is not true)
            as oldest_since
    from alerts
    left join seen_to on seen_to.alert_id = alerts.alert_id
    group by severity
)

select
    severity,
    coalesce(due, 0) as due,
    coalesce(unacknowledged, 0) as unacknowledged,
    oldest_since
from (select unnest(['breach', 'risk', 'notice']) as severity) severities
left join counted using (severity)
