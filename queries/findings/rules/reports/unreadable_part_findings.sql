-- One row per event that counts and part of it that is not as the contract shows it, or is missing:
-- unreadable_part. What such an event says else counts, so that none of it is lost in silence.
-- in: other_findings
-- key: seq, detail
--
-- rule: unreadable_part
-- place: 250
-- severity: risk
-- name: Part of an event could not be read
-- means: A deadline, a requested field or a denial's reason may be missing from what we know.
-- remedy: Compare the entry with the contract, and ask the platform what it meant.

select
    'unreadable_part' as rule,
    'risk' as severity,
    process_id,
    seller_id,
    seq,
    part || ': ' || personal(found, mask_found(part, found)) as detail,
    occurred_at as found_at
from fact_unreadable_parts
anti join superseded_deliveries using (seq)
where occurred_at <= as_of()
