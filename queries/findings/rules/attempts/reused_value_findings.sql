-- One row per accepted submission every field of which had been sent before for the same seller in one
-- submission of another process: values_reused. Data must be collected again each time; where fresh
-- evidence covers each field, the seller has said the same again, and it is a notice alone.
-- in: settled_findings
-- key: detail
--
-- rule: values_reused
-- place: 110
-- severity: risk, notice
-- name: Same values as an earlier submission
-- means: An auditor can suspect that an earlier submission was copied. It is only a notice where the seller
--   gave every value again for this review.
-- remedy: Keep the journey's screens and logs as evidence of the seller's own answer.

with fields as (
    -- An entry from a file need not name the seller; its process does.
    select
        payload_fields.* replace (
            coalesce(payload_fields.seller_id, process_facts.seller_id) as seller_id
        )
    from payload_fields
    join process_facts on process_facts.process_id = payload_fields.process_id
),

matches as (
    select
        later.attempt_id,
        any_value(later.process_id) as process_id,
        any_value(later.start_seq) as seq,
        any_value(later.finished_at) as found_at,
        count(*) as fields
    from fields as later
    join fields as earlier
        on earlier.seller_id = later.seller_id
        and earlier.path = later.path
        and earlier.value_key = later.value_key
        and earlier.process_id <> later.process_id
        and earlier.started_at < later.started_at
    where later.outcome = 'accepted'
    group by later.attempt_id, earlier.attempt_id
),

sizes as (
    select attempt_id, count(*) as fields, bool_and(is_covered) as are_covered
    from sent_fields
    group by attempt_id
)

select distinct
    'values_reused' as rule,
    case when are_covered then 'notice' else 'risk' end as severity,
    matches.process_id,
    process_facts.seller_id,
    matches.seq,
    matches.attempt_id as detail,
    matches.found_at
from matches
join sizes on sizes.attempt_id = matches.attempt_id and sizes.fields = matches.fields
join process_facts on process_facts.process_id = matches.process_id
