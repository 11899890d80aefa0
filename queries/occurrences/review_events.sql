-- One row per review event that counts, among those that had occurred at as_of.
-- reads: clock, superseded_deliveries, facts.reviews
-- key: event_id
-- column: seq | the entry that counts for this event
-- column: event_id | the platform's id of the event
-- column: occurred_at | when it was received
-- column: created_at | when the platform created it; without that, when it was received
-- column: process_id | the review process
-- column: seller_id | its `customer_id`
-- column: object_type | its `payload.object.type`
-- column: status | the status it reports
-- column: deadline_at | the deadline it carries
-- column: requested_fields | the field paths it asks for

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
    requested_fields
from facts.reviews
anti join superseded_deliveries using (seq)
where occurred_at <= (select as_of from clock)
