-- One row per message, process and result that is said of it, by as_of: the earliest counts
-- (docs/rules.md#seller-notices).
-- key: message_id, process_id, result
-- column: seq | the entry that counts
-- column: message_id | the id of the message
-- column: process_id | the process that it is about; null: each that the message names
-- column: occurred_at | when it came about, as who reports it says
-- column: recorded_at | when it was recorded
-- column: origin | live or ingested
-- column: result | accepted, delivered, opened, bounced, failed, uncertain or retracted
-- column: is_refused | of a failed one: the service will never take it
-- column: content_sha256 | digest of the content: orders what nothing else does

select *
from fact_notice_results
where occurred_at <= as_of()
qualify row_number() over (
    partition by message_id, process_id, result order by occurred_at, content_sha256, seq
) = 1
