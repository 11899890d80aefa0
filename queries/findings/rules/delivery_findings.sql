-- One row per event that came again with other bytes (event_altered), per live delivery recorded more
-- than 5 seconds after its receipt (slow_record), and per delivery in quarantine (quarantined).
-- reads: clock, superseded_deliveries, timeline, quarantine, facts.webhooks, facts.quarantined
-- key: rule, seq
-- column: rule | the broken rule (rules.md section 6)
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about, where the rule knows; views over it add the process's
-- column: seq | the entry that shows it
-- column: detail | what exactly; empty where the rule says it all
-- column: found_at | when it became true

with altered as (
    select
        webhooks.event_id,
        min(struct_pack(webhooks.occurred_at, webhooks.body_sha256, webhooks.seq)) as first
    from superseded_deliveries
    join facts.webhooks as webhooks on webhooks.seq = superseded_deliveries.seq
    where superseded_deliveries.is_altered and webhooks.occurred_at <= (select as_of from clock)
    group by webhooks.event_id
),

counted as (
    select event_id, seq
    from facts.webhooks
    anti join superseded_deliveries using (seq)
    where event_id in (select event_id from altered)
),

received as (
    select seq, origin, occurred_at, recorded_at from facts.webhooks where replay_of is null
    union all
    select seq, origin, occurred_at, recorded_at from facts.quarantined
)

select
    'event_altered' as rule,
    'risk' as severity,
    timeline.process_id,
    timeline.seller_id,
    altered.first.seq as seq,
    altered.event_id as detail,
    altered.first.occurred_at as found_at
from altered
join counted on counted.event_id = altered.event_id
join timeline on timeline.seq = counted.seq
union all
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
    and occurred_at <= (select as_of from clock)
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
