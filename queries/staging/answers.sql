-- One row per field that an `answered` collection gives, occurred by as_of.
-- key: seq, path
-- column: path | text | dotted path of the field
-- column: value_key | keyed digest of its value: equal for the same JSON value
-- column: answered_at | when the seller answered
-- column: recency | of two answers to one path, the greater is the latest

select
    steps.seq,
    steps.process_id,
    fields.path,
    fields.value_key,
    steps.occurred_at as answered_at,
    steps.recorded_at,
    steps.source,
    struct_pack(
        answered_at := steps.occurred_at, body_sha256 := steps.body_sha256, first := -steps.seq
    ) as recency
from journey_steps as steps
join fact_answered_fields as fields on fields.seq = steps.seq
