-- One row per collection: what a seller did in a collection journey, newest first
-- (docs/rules.md#collection-evidence). Recorded twice, it is one row.
-- key: seq
-- order: occurred_at desc, seq
-- by: process_id, seller_id

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
