-- One row per field that an attempt sent and a seller has to answer for. Nothing was sent by a refusal;
-- `process_id` and `type` say no seller's data.
-- reads: attempts, facts.sent_fields
-- key: attempt_id, path
-- column: attempt_id | the attempt
-- column: process_id | the review process
-- column: seller_id | the seller it was sent for, where the entries name one
-- column: outcome | what became of the attempt
-- column: path | dotted path of the field
-- column: value_key | keyed digest of its value: equal for the same JSON value
-- column: started_at | the attempt's start
-- column: finished_at | the attempt's end; null while open
-- column: start_seq | the entry of the start

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
join facts.sent_fields as fields on fields.seq = attempts.start_seq
where attempts.outcome <> 'refused' and fields.path not in ('process_id', 'type')
