-- One row per version of an event but the first: event_altered. It may be the news that the first
-- delivery did not carry, and is about the process and the seller that it names itself.
-- reads: repeated_deliveries, timeline, process_facts
-- key: seq
-- column: rule | the broken rule (docs/rules.md#findings)
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about
-- column: seq | the entry that shows it
-- column: detail | what exactly; empty where the rule says it all
-- column: found_at | when it became true

select
    'event_altered' as rule,
    'risk' as severity,
    timeline.process_id,
    coalesce(timeline.seller_id, process_facts.seller_id) as seller_id,
    timeline.seq,
    timeline.event_id as detail,
    timeline.occurred_at as found_at
from repeated_deliveries
join timeline on timeline.seq = repeated_deliveries.seq
left join process_facts on process_facts.process_id = timeline.process_id
where is_version and is_altered
