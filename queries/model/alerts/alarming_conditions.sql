-- One row per condition that calls for somebody, beside the ladder (docs/alerts.md#conditions).
-- reads: findings, process_state, failing_tries, tries, delivery_silence
-- key: kind, subject
-- column: kind | a rule of `findings`, ticket_due or silence
-- column: subject | what makes it one condition and not another
-- column: severity | breach, risk or notice
-- column: role | who sees to it: officer or admin
-- column: process_id | the review process it is about; null where it is about none
-- column: seller_id | the seller it is about; null where it is about none
-- column: since | when it became so
-- column: seq | the entry that shows it

with shown as (
    select *
    from findings
    where may_alert(found_at)
        and (
            -- The ladder says the one; of the other nobody can be told.
            (severity = 'breach' and rule not in ('expired_unfinished', 'alert_undelivered')
                and contains(alert_rules().conditions, 'breach'))
            or (rule in ('unauthorized', 'tls_refused', 'retries_exhausted', 'quarantined')
                and contains(alert_rules().conditions, rule))
        )
)

select
    rule as kind,
    concat_ws(':', seq, process_id, detail) as subject,
    severity,
    if(rule in ('unauthorized', 'tls_refused'), 'admin', 'officer') as role,
    process_id,
    seller_id,
    found_at as since,
    seq
from shown
where rule <> 'quarantined'
union all
-- Bad deliveries come in crowds: one alert for those of a day.
select
    rule as kind,
    strftime(found_at, '%Y-%m-%d') as subject,
    severity,
    'admin' as role,
    null as process_id,
    null as seller_id,
    min(found_at) as since,
    min(seq) as seq
from shown
where rule = 'quarantined'
group by rule, severity, subject
union all
select
    'ticket_due' as kind,
    concat_ws(':', process_state.process_id, epoch_us(coalesce(began_at, last_attempt_at)))
        as subject,
    'risk' as severity,
    'officer' as role,
    process_state.process_id,
    process_state.seller_id,
    coalesce(ended_at, last_attempt_at) as since,
    coalesce(tries.finish_seq, tries.start_seq) as seq
from process_state
left join failing_tries on failing_tries.process_id = process_state.process_id
left join tries on tries.process_id = process_state.process_id and tries.is_last
where ticket_due
    and contains(alert_rules().conditions, 'ticket_due')
    and may_alert(coalesce(ended_at, last_attempt_at))
union all
select
    'silence' as kind,
    cast(epoch_us(last_at) as varchar) as subject,
    'risk' as severity,
    'admin' as role,
    null as process_id,
    null as seller_id,
    since,
    seq
from delivery_silence
where contains(alert_rules().conditions, 'silence') and may_alert(since)
