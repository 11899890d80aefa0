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
-- key: alert_id
-- column: kind | text | a rung (opened, overdue, before_..., expired), a rule of `findings`, or another condition (docs/alerts.md#conditions)
-- column: severity | word | breach once expired or for a breach, risk with less than 72 hours left to the deadline and for most conditions, else notice
-- column: role | word | who sees to it: officer or admin
-- column: process_id | the review process it is about; null where it is about none
-- column: seller_id | the seller it is about; null where it is about none
-- column: since | when it became due
-- column: seq | an entry that shows what it is about
-- column: is_rung | it is a rung of the ladder

with found as (
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
        alert_name(kind, subject) as alert_id,
        kind,
        condition_severity(condition) as severity,
        condition_role(condition) as role,
        process_id,
        seller_id,
        since,
        seq,
        false as is_rung,
        false as is_pressing
    from alarming_conditions
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
