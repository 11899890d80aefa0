-- One row per event that came again with other bytes (event_altered), per live delivery recorded more
-- than 5 seconds after its receipt (slow_record), and per delivery in quarantine (quarantined).
-- reads: events, deliveries, quarantine, facts.webhooks
-- key: rule, seq
-- column: rule | the broken rule (rules.md section 6)
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about, where the rule knows; `findings` adds the process's
-- column: seq | the entry that shows it
-- column: detail | what exactly; empty where the rule says it all
-- column: found_at | when it became true

with altered as (
    select
        deliveries.event_id,
        arg_min(
            struct_pack(deliveries.seq, deliveries.occurred_at),
            struct_pack(deliveries.occurred_at, webhooks.body_sha256, deliveries.seq)
        ) as first
    from deliveries
    join facts.webhooks on webhooks.seq = deliveries.seq
    where deliveries.is_altered
    group by deliveries.event_id
)

select
    'event_altered' as rule,
    'risk' as severity,
    events.process_id,
    events.seller_id,
    altered.first.seq as seq,
    altered.event_id as detail,
    altered.first.occurred_at as found_at
from altered
join events on events.event_id = altered.event_id
union all
select
    'slow_record' as rule,
    'notice' as severity,
    null as process_id,
    null as seller_id,
    seq,
    '' as detail,
    recorded_at as found_at
from deliveries
where origin = 'live' and record_seconds > 5
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
