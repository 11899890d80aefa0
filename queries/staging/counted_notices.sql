-- One row per message to a seller and process that it speaks of, by as_of: a message, a call or a letter
-- (docs/rules.md#seller-notices). Recorded twice, the earliest counts.
-- key: message_id, process_id
-- column: seq | the entry that counts
-- column: message_id | the id of the message, shared by the processes that it speaks of
-- column: process_id | the platform's id of the review process
-- column: seller_id | the seller whom the entry names
-- column: occurred_at | when it was handed over; of a call, when it was made; of a letter, when it was posted
-- column: recorded_at | when it was recorded
-- column: origin | live or ingested
-- column: channel | by which the seller was notified
-- column: outcome | of a call
-- column: rung | of the schedule; null where a person sent it
-- column: template | the text that was sent, with its version
-- column: language | in which
-- column: promised_for | for when the seller promised to answer, as the caller wrote it
-- column: actor | who sent it by hand, or called

select * exclude (content_sha256)
from fact_notices
where occurred_at <= as_of()
qualify row_number() over (
    partition by message_id, process_id order by occurred_at, content_sha256, seq
) = 1
