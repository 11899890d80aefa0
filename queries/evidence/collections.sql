-- One row per collection: what a seller did in a collection journey, newest first (rules.md
-- section 5). Told twice, it is one row.
-- reads: journey_steps, facts.answered_leaves, facts.artifacts
-- key: seq
-- by: process_id, seller_id
-- column: seq | the entry, the first that told it
-- column: process_id | the review process it was for
-- column: seller_id | whose data it is
-- column: occurred_at | when the seller did it
-- column: recorded_at | when it was recorded
-- column: journey_id | the collection journey
-- column: step | invited, opened, answered or confirmed
-- column: channel | in_app, web_form, email, push, sms, chat or phone
-- column: source | who gave the data; anything but `seller` becomes a finding once it is sent
-- column: actor | the seller's person; personal, masked
-- column: paths | the leaf paths that were answered, sorted; empty for other steps
-- column: artifacts | screens, flows and logs kept with it: how many

with answered as (
    select seq, list_sort(list(path)) as paths
    from facts.answered_leaves
    group by seq
),

kept as (
    select seq, count(*) as artifacts
    from facts.artifacts
    group by seq
)

select
    steps.seq,
    steps.process_id,
    steps.seller_id,
    steps.occurred_at,
    steps.recorded_at,
    steps.journey_id,
    steps.step,
    steps.channel,
    steps.source,
    personal(steps.actor, mask_text(steps.actor)) as actor,
    coalesce(answered.paths, []) as paths,
    coalesce(kept.artifacts, 0) as artifacts
from journey_steps as steps
left join answered on answered.seq = steps.seq
left join kept on kept.seq = steps.seq
order by steps.occurred_at desc, steps.seq
