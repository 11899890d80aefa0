-- One row per alert that may be due: of a rung, unless it is somebody else's turn, or of a condition,
-- unless it is `ticket_due` and no ticket is. One of these holds:
--
-- - it became due not long ago;
-- - it was raised in time, and is held;
-- - its deadline presses, it was raised, and no channel took it;
-- - its deadline presses, and nobody raised it though alerts were raised here by then: nobody sent any for a
--   while, or it was somebody else's turn.
--
-- Where the variable `unraised` is set, only those that became due not long ago and were not raised.
-- reads: due_rungs, alarming_findings, recent_failures, delivery_silence, raised_alerts, alert_steps, log
-- key: alert_id
-- column: alert_id | its name: one for a process, a rung and a deadline, or for a condition
-- column: kind | a rung, a rule of `findings`, or another condition (docs/alerts.md#conditions)
-- column: severity | breach, risk or notice
-- column: role | who sees to it: officer or admin
-- column: process_id | the review process it is about; null where it is about none
-- column: seller_id | the seller it is about, where that is known here
-- column: since | when it became so
-- column: seq | an entry that shows it
-- column: is_rung | it is a rung of the ladder

with acknowledged as (
    -- When somebody has seen to bad deliveries, and of which day these were.
    select strftime(coalesce(raised.since, raised.step_at), '%Y-%m-%d') as day, seen.step_at as seen_at
    from alert_steps as seen
    join alert_steps as raised on raised.alert_id = seen.alert_id
    where seen.step = 'acknowledged' and raised.step = 'raised' and raised.kind = 'quarantined'
),

quarantined as (
    select
        found.rule,
        found.severity,
        found.found_at,
        found.seq,
        strftime(found.found_at, '%Y-%m-%d') as day,
        max(acknowledged.seen_at) as seen_at
    from alarming_findings as found
    left join acknowledged
        on acknowledged.day = strftime(found.found_at, '%Y-%m-%d')
        and acknowledged.seen_at < found.found_at
    where found.rule = 'quarantined'
    group by all
),

found as (
    select
        alert_name(rung, epoch_us(deadline_at) || ':' || process_id) as alert_id,
        rung as kind,
        case
            when state = 'EXPIRED' then 'breach'
            when seconds_to_deadline < alert_rules().risk * 3600 then 'risk'
            else 'notice'
        end as severity,
        'officer' as role,
        process_id,
        seller_id,
        since,
        seq,
        true as is_rung,
        rung in ('overdue', 'expired')
            or seconds_to_deadline < alert_rules().even_while_awaiting * 3600 as is_pressing
    from due_rungs
    union all
    select
        alert_name(rule, concat_ws(':', seq, process_id, detail)) as alert_id,
        rule as kind,
        severity,
        if(rule in ('unauthorized', 'tls_refused'), 'admin', 'officer') as role,
        process_id,
        seller_id,
        found_at as since,
        seq,
        false as is_rung,
        false as is_pressing
    from alarming_findings
    where rule <> 'quarantined'
    union all
    select
        alert_name(kind, subject) as alert_id,
        kind,
        'risk' as severity,
        'officer' as role,
        process_id,
        null as seller_id,
        since,
        seq,
        false as is_rung,
        false as is_pressing
    from recent_failures
    where contains(alert_rules().conditions, kind) and may_alert(since)
    union all
    -- Bad deliveries come in crowds: one alert for those of a day, and another for what came after somebody had
    -- seen to that: a review may be among them.
    select
        alert_name(rule, concat_ws(':', day, epoch_us(seen_at))) as alert_id,
        rule as kind,
        severity,
        'admin' as role,
        null as process_id,
        null as seller_id,
        -- Of a day that is half in the look-back, what is in it.
        coalesce(min(found_at) filter (may_be_raised(found_at)), min(found_at)) as since,
        coalesce(min(seq) filter (may_be_raised(found_at)), min(seq)) as seq,
        false as is_rung,
        false as is_pressing
    from quarantined
    group by rule, severity, alert_id
    union all
    select
        alert_name('silence', cast(epoch_us(last_at) as varchar)) as alert_id,
        'silence' as kind,
        'risk' as severity,
        'admin' as role,
        null as process_id,
        null as seller_id,
        since,
        seq,
        false as is_rung,
        false as is_pressing
    from delivery_silence
    where contains(alert_rules().conditions, 'silence') and may_alert(since)
),

-- Since when alerts are raised here: an entry of our own says so, and not a file.
telling as (
    select min(steps.step_at) as began_at
    from alert_steps as steps
    join log on log.seq = steps.seq
    where steps.step = 'raised'
        and log.origin = 'live'
        and not coalesce(getvariable('unraised'), false)
),

-- What was raised here, of which nobody was told, and that nobody sees to.
untold as (
    select steps.alert_id
    from alert_steps as steps
    join log on log.seq = steps.seq
    where steps.step in ('raised', 'sent', 'acknowledged')
        and steps.step_at > alerts_from()
        and not coalesce(getvariable('unraised'), false)
    group by steps.alert_id
    having bool_or(steps.step = 'raised' and log.origin = 'live')
        and bool_and(steps.step = 'raised')
)

select found.* exclude (is_pressing)
from found
left join raised_alerts as raised on raised.alert_id = found.alert_id
where if(
    coalesce(getvariable('unraised'), false),
    raised.alert_id is null,
    may_be_raised(since)
    or coalesce(raised.is_held, false)
    or (
        is_pressing
        and if(
            raised.alert_id is null,
            since > (select began_at from telling),
            found.alert_id in (select alert_id from untold)
        )
    )
)
