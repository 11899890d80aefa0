-- One row per leaf that an `answered` collection gives, occurred by as_of.
-- reads: journey_steps, facts.answered_leaves
-- key: seq, path
-- column: seq | the entry of the collection
-- column: process_id | the review process
-- column: path | dotted path of the leaf
-- column: value_key | keyed digest of its value: equal for the same JSON value
-- column: answered_at | when the seller answered
-- column: recorded_at | when that was recorded
-- column: source | who gave the data
-- column: recency | of two answers to one path, the greater is the latest

select
    steps.seq,
    steps.process_id,
    leaves.path,
    leaves.value_key,
    steps.occurred_at as answered_at,
    steps.recorded_at,
    steps.source,
    struct_pack(
        answered_at := steps.occurred_at, body_sha256 := steps.body_sha256, first := -steps.seq
    ) as recency
from journey_steps as steps
join facts.answered_leaves as leaves on leaves.seq = steps.seq
