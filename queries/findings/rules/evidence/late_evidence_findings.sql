-- One row per collection that was used as evidence although it was recorded after the attempt's
-- start, or more than 24 hours after it happened: evidence_recorded_late.
-- in: sent_findings
-- key: seq
--
-- rule: evidence_recorded_late
-- place: 90
-- severity: risk
-- name: Evidence recorded late
-- means: An auditor can doubt evidence that was recorded after the submission it supports.
-- remedy: Record collections as they happen.

select
    'evidence_recorded_late' as rule,
    'risk' as severity,
    steps.process_id,
    null as seller_id,
    steps.seq,
    '' as detail,
    min(greatest(sent_fields.started_at, steps.recorded_at)) as found_at
from sent_fields
join journey_steps as steps on steps.seq = sent_fields.evidence_seq
where steps.recorded_at > sent_fields.started_at
    or steps.recorded_at > steps.occurred_at + interval 24 hour
group by steps.seq, steps.process_id
