-- One row per field that an attempt sent and a seller has to answer for. Nothing was sent by a refusal;
-- `process_id` and `type` say no seller's data.
-- key: attempt_id, path
-- column: path | text | dotted path of the field
-- column: value_key | keyed digest of its value: equal for the same JSON value

select
    attempts.attempt_id,
    attempts.process_id,
    attempts.seller_id,
    attempts.outcome,
    fields.path,
    fields.value_key,
    attempts.started_at,
    attempts.finished_at,
    attempts.start_seq
from attempts
join fact_sent_fields as fields on fields.seq = attempts.start_seq
where attempts.outcome <> 'refused' and fields.path not in ('process_id', 'type')
