-- One row per version of a review event, among those that had occurred at as_of. What a version does
-- not carry, or not as the contract shows it, is null.
-- key: seq
-- column: seq | the entry that counts for this version
-- column: event_id | the platform's id of the event
-- column: occurred_at | when it was received
-- column: created_at | when the platform created it; without that, when it was received
-- column: process_id | the platform's id of the review process
-- column: seller_id | its `customer_id`
-- column: object_type | its `payload.object.type`
-- column: status | the status it reports
-- column: deadline_at | the deadline it carries
-- column: requested_fields | the field paths it asks for
-- column: content_sha256 | digest of the content: orders what nothing else does
-- column: origin | live or ingested

select
    seq,
    event_id,
    occurred_at,
    created_at,
    process_id,
    seller_id,
    object_type,
    status,
    deadline_at,
    requested_fields,
    content_sha256,
    origin
from fact_reviews
anti join superseded_deliveries using (seq)
where occurred_at <= as_of()
