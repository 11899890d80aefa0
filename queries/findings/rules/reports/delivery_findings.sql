-- One row per live delivery recorded more than 5 seconds after its receipt (slow_record), and per
-- delivery in quarantine (quarantined).
-- in: other_findings
-- key: rule, seq
--
-- rule: quarantined
-- place: 290
-- severity: risk
-- name: Delivery quarantined
-- means: A review may have been asked for, and nobody knows its deadline.
-- remedy: Read the reason; fix its cause and replay the delivery, or supply what it lacks or its encoding.
--
-- rule: slow_record
-- place: 300
-- severity: notice
-- name: Slow to be recorded
-- means: The platform waits 30 seconds for the answer; what comes later can be lost.
-- remedy: Check the load and the disk of the receiver.

with received as (
    select seq, origin, occurred_at, recorded_at from fact_webhooks where replay_of is null
    union all
    select seq, origin, occurred_at, recorded_at from fact_quarantined
)

select
    'slow_record' as rule,
    'notice' as severity,
    null as process_id,
    null as seller_id,
    seq,
    '' as detail,
    recorded_at as found_at
from received
where origin = 'live'
    and recorded_at > occurred_at + interval 5 second
    and occurred_at <= as_of()
union all
select
    'quarantined' as rule,
    'risk' as severity,
    null as process_id,
    null as seller_id,
    seq,
    reason as detail,
    occurred_at as found_at
from quarantine
where replayed_as is null
