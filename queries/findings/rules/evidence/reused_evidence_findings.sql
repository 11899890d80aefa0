-- One row per process that shares a journey (breach) or an artifact of an answer or confirmation
-- (risk) with another process that had it first: evidence_reused.
-- in: other_findings, alarming_findings
-- key: severity, process_id, detail
--
-- rule: evidence_reused
-- place: 100
-- severity: breach, risk
-- name: Evidence reused
-- fault: marketplace
-- remedy: Each process needs a journey of its own.

with uses as (
    select
        'breach' as severity,
        journey_id as subject,
        process_id,
        occurred_at,
        seq
    from fact_collections
    where journey_id in (select subject from shared_subjects)
        and occurred_at <= as_of()
    union all
    select
        'risk' as severity,
        artifacts.sha256 as subject,
        steps.process_id,
        steps.occurred_at,
        steps.seq
    from fact_artifacts as artifacts
    join fact_collections as steps on steps.seq = artifacts.seq
    where artifacts.sha256 in (select subject from shared_subjects)
        and steps.step in ('answered', 'confirmed')
        and steps.occurred_at <= as_of()
),

first_uses as (
    select
        severity,
        subject,
        process_id,
        min(struct_pack(occurred_at, seq)) as first
    from uses
    group by severity, subject, process_id
)

select
    'evidence_reused' as rule,
    severity,
    process_id,
    null as seller_id,
    first.seq as seq,
    subject as detail,
    first.occurred_at as found_at
from first_uses
qualify row_number() over (
    partition by severity, subject order by first.occurred_at, process_id
) > 1
