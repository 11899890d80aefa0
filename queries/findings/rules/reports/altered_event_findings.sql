-- One row per version of an event but the first: event_altered. It may be the news that the first
-- delivery did not carry, and is about the process and the seller that it names itself.
-- in: findings
-- key: seq
--
-- rule: event_altered
-- place: 210
-- severity: risk
-- name: Event redelivered with different content
-- means: The later delivery may carry news, or may have been forged or changed on its way.
-- remedy: Compare both deliveries, and check how deliveries are authenticated.

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
