-- One row per collection: what a seller did in a collection journey, newest first
-- (docs/rules.md#collection-evidence). Recorded twice, it is one row.
-- reads: journey_steps
-- key: seq
-- order: occurred_at desc
-- order: seq
-- by: process_id, seller_id
-- column: seq | the entry, the first that says it
-- column: process_id | the review process it was for
-- column: seller_id | whose data it is
-- column: occurred_at | when the seller did it
-- column: recorded_at | when it was recorded
-- column: journey_id | the collection journey
-- column: step | text | invited, opened, answered or confirmed
-- column: channel | text | in_app, web_form, email, push, sms, chat or phone
-- column: source | text | who gave the data; anything but `seller` becomes a finding once it is sent
-- column: actor | staff | the seller's person; personal, masked
-- column: paths | text | the field paths that were answered, sorted; empty for other steps
-- column: artifacts | screens, flows and logs kept with it: how many

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
    personal(actor, mask_text(actor)) as actor,
    paths,
    artifacts
from journey_steps
