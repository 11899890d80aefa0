-- One row per unfinished process that was asked for fields.
-- reads: process_facts
-- key: process_id
-- column: process_id | the review process
-- column: seller_id | the seller under review
-- column: review_type | the type, such as ACP; null for an unknown type
-- column: opened_at | when the platform created the earliest event
-- column: requested_fields | the field paths asked for

select process_id, seller_id, review_type, opened_at, requested_fields
from process_facts
where finished_at is null and opened_at is not null
