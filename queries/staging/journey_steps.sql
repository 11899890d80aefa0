-- One row per collection that counts, occurred by as_of: what a seller did in a collection journey. Views
-- read `fact_collections` in its place only where a repetition changes nothing, as for the first or latest.
-- key: seq
-- column: seq | the entry that counts, the first recorded
-- column: process_id | the platform's id of the review process
-- column: seller_id | whose data it is
-- column: occurred_at | when the seller did it
-- column: recorded_at | when it was recorded
-- column: journey_id | the collection journey
-- column: step | text | invited, opened, answered or confirmed
-- column: channel | text | how the seller was reached: in_app, web_form, email, push, sms, chat or phone
-- column: source | text | who gave the data; anything but `seller` is a finding once it is sent
-- column: actor | staff | the seller's person; personal, masked for readers
-- column: paths | text | the field paths that were answered, sorted; empty for other steps
-- column: artifacts | screens, flows and logs kept with it: how many
-- column: body_sha256 | digest of the content: orders what nothing else does

select
    seq,
    process_id,
    seller_id,
    occurred_at,
    recorded_at,
    journey_id,
    step,
    channel,
    source,
    actor,
    paths,
    artifacts,
    body_sha256
from fact_collections
anti join repeated_collections using (seq)
where occurred_at <= as_of()
