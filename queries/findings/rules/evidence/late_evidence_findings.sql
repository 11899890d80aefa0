-- One row per collection that was used as evidence although it was recorded after the attempt's
-- start, or more than 24 hours after it happened: evidence_recorded_late.
-- reads: sent_fields, journey_steps
-- key: seq
-- column: rule | the broken rule (docs/rules.md#findings)
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about, where the rule knows; views over it add the process's
-- column: seq | the entry that shows it
-- column: detail | what exactly; empty where the rule says it all
-- column: found_at | when it became true

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
