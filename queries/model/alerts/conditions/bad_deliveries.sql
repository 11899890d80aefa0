-- One row per day of which deliveries are in quarantine, and another for what came after somebody had seen to
-- that: they come in crowds, and a review may be among them.
-- in: alarming_conditions
-- key: kind, subject
--
-- condition: quarantined
-- place: 60
-- severity: risk
-- role: admin
-- name: Deliveries in quarantine
-- advice: Run `prazo quarantine`: it says why each delivery cannot be read. A review with a deadline may be
--   among them

select
    'quarantined' as condition,
    'quarantined' as kind,
    concat_ws(':', day, epoch_us(seen_at)) as subject,
    null as process_id,
    null as seller_id,
    -- Of a day that is half in the look-back, what is in it.
    coalesce(min(found_at) filter (may_be_raised(found_at)), min(found_at)) as since,
    coalesce(min(seq) filter (may_be_raised(found_at)), min(seq)) as seq
from (
    select
        found_at,
        delivery_findings.seq,
        strftime(found_at, '%Y-%m-%d') as day,
        max(acknowledged.seen_at) as seen_at
    from delivery_findings
    left join (
        -- When somebody has seen to bad deliveries, and of which day these were.
        select
            strftime(coalesce(raised.since, raised.step_at), '%Y-%m-%d') as of_day,
            seen.step_at as seen_at
        from alert_steps as seen
        join alert_steps as raised on raised.alert_id = seen.alert_id
        where seen.step = 'acknowledged' and raised.step = 'raised' and raised.kind = 'quarantined'
    ) as acknowledged
        on of_day = strftime(found_at, '%Y-%m-%d') and acknowledged.seen_at < found_at
    where rule = 'quarantined' and may_alert(found_at)
    group by all
)
group by day, seen_at
