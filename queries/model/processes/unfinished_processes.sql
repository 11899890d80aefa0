-- One row per unfinished process that was asked for fields.
-- key: process_id

select process_id, seller_id, review_type, opened_at, requested_fields
from process_facts
where finished_at is null and opened_at is not null
