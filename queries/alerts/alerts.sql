-- One row per alert that is due: for whom, since when, and what is to be done (docs/alerts.md#what-is-due).
-- It stays while what it is about lasts, whether anybody was told or not.
-- key: alert_id
-- order: not is_open, case severity when 'breach' then 1 when 'risk' then 2 else 3 end, since, alert_id
-- column: kind | text | a rung (opened, overdue, before_..., expired), a rule of `findings`, or another condition (docs/alerts.md#conditions)
-- column: severity | word | breach once expired or for a breach, risk with less than 72 hours left to the deadline and for most conditions, else notice
-- column: role | word | who sees to it: officer or admin
-- column: process_id | the review process it is about; null where it is about none
-- column: since | when it became due
-- column: seq | an entry that shows what it is about
-- column: raised_at | when its entry was recorded; null until then
-- column: told | how many recipients were told of it
-- column: recipients | staff | who they are, sorted
-- column: undelivered | how many recipients could not be told of it by one of their channels, and were not since; one where there is nobody to tell
-- column: acknowledged_at | when somebody said that they see to it; null until then
-- column: acknowledged_by | staff | who said so first
-- column: is_open | nobody has acknowledged it, and nobody has put it off
-- column: snoozed_until | until when somebody put it off; null where nobody did, or that is over

with steps as (
    -- An alert is raised no earlier than it is due, so older steps need not be read.
    from alert_steps where step_at > alerts_from()
),

raised as (
    select
        alert_id,
        min(step_at) filter (step = 'raised') as raised_at,
        count(distinct recipient) filter (step = 'sent') as told,
        list_sort(list(distinct recipient) filter (step = 'sent')) as recipients,
        min(step_at) filter (step = 'acknowledged') as acknowledged_at,
        arg_min(actor, seq) filter (step = 'acknowledged') as acknowledged_by,
        snooze_end(arg_max(until, seq) filter (step = 'snoozed'), raised_at) as last_snooze
    from steps
    group by alert_id
),

missed as (
    select alert_id, count(*) as undelivered
    from (
        select alert_id
        from steps
        where step in ('sent', 'undelivered')
        group by alert_id, recipient
        having arg_max(step, seq) = 'undelivered'
    )
    group by alert_id
),

-- What the log itself does not show: the last of a kind, until an entry says that it is over. An entry
-- of our own: a file's would alarm people of another machine's past, or end what is wrong here.
beside_the_log as (
    select
        alert_id,
        arg_min(kind, seq) as kind,
        arg_min(severity, seq) as severity,
        arg_min(role, seq) as role,
        arg_min(since, seq) as since,
        min(seq) as seq
    from (
        select steps.*
        from alert_steps as steps
        join log on log.seq = steps.seq
        where steps.step in ('raised', 'cleared')
            and log.origin = 'live'
            and steps.alert_id in (
                select alert_id
                from alert_steps
                where lasts(kind)
            )
    )
    group by alert_id
    having lasts(kind)
    qualify row_number() over (partition by arg_min(kind, seq) order by min(seq) desc) = 1
        and bool_and(step = 'raised')
)

select
    alert_id,
    kind,
    severity,
    role,
    assignee,
    alarming.process_id,
    seller_id,
    review_type,
    state,
    since,
    deadline_at,
    seconds_to_deadline,
    next_action,
    alarming.seq,
    raised_at,
    coalesce(told, 0) as told,
    coalesce(recipients, []) as recipients,
    coalesce(undelivered, 0) as undelivered,
    acknowledged_at,
    acknowledged_by,
    acknowledged_at is null and coalesce(last_snooze <= as_of(), true) as is_open,
    if(last_snooze > as_of(), last_snooze, null) as snoozed_until
from (
    from due_alerts
    union all by name
    from beside_the_log
) alarming
left join raised using (alert_id)
left join missed using (alert_id)
left join assignments on assignments.process_id = alarming.process_id
