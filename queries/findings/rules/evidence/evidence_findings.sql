-- One row per process and field path that was sent without the seller's own, timely answer:
-- field_without_evidence, source_not_seller or evidence_before_request, whichever the first such
-- sending broke.
-- in: sent_findings
-- key: process_id, detail
--
-- rule: field_without_evidence
-- place: 60
-- severity: breach
-- name: Field sent without evidence
-- fault: marketplace
-- remedy: Find out where the value came from; if not from the seller, ask the seller again.
--
-- rule: source_not_seller
-- place: 70
-- severity: breach
-- name: Not collected from the seller
-- fault: marketplace
-- remedy: Collect the field from the seller in an active journey.
--
-- rule: evidence_before_request
-- place: 80
-- severity: breach
-- name: Collected before the request
-- fault: marketplace
-- remedy: Collect the field again, for this request.

select
    case
        when not is_same then 'field_without_evidence'
        when not is_seller then 'source_not_seller'
        else 'evidence_before_request'
    end as rule,
    'breach' as severity,
    process_id,
    null as seller_id,
    start_seq as seq,
    path as detail,
    started_at as found_at
from sent_fields
where not is_covered
qualify row_number() over (
    partition by process_id, path order by started_at, attempt_id
) = 1
