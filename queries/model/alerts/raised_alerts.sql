-- One row per alert that was raised not long ago. One is raised no earlier than it is due, so those that
-- may be raised are not among older ones.
-- key: alert_id
-- column: is_held | it stays due though it became due long ago: until so long after it was raised, or after it was put off for the last time (docs/alerts.md#how-long-it-stays-due)

select
    alert_id,
    -- The longest time counts, not the last: what a file says of alerts must not end one sooner.
    coalesce(
        greatest(raised_at, snooze_end(put_off_until, raised_at))
            > as_of() - to_hours(alert_rules().held),
        false
    ) as is_held
from (
    select
        alert_id,
        max(step_at) filter (where step = 'raised') as raised_at,
        max(until) filter (where step = 'snoozed') as put_off_until
    from alert_steps
    where step in ('raised', 'snoozed') and step_at > alerts_from()
    group by alert_id
)
where raised_at is not null
