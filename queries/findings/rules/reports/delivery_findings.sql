-- One row per live delivery recorded more than 5 seconds after its receipt (slow_record), and per
-- delivery in quarantine (quarantined).
-- reads: quarantine, facts.webhooks, facts.quarantined
-- key: rule, seq
-- column: rule | the broken rule (docs/rules.md#findings)
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about, where the rule knows; views over it add the process's
-- column: seq | the entry that shows it
-- column: detail | what exactly; empty where the rule says it all
-- column: found_at | when it became true

with received as (
    select seq, origin, occurred_at, recorded_at from facts.webhooks where replay_of is null
    union all
    select seq, origin, occurred_at, recorded_at from facts.quarantined
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
