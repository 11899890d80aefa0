-- One row per process and field path answered: the answer that the evidence gate goes by
-- (docs/rules.md#the-evidence-gate). What an attempt may send is decided by this view as of its start.
-- key: process_id, path
-- column: seq | the entry of the latest `answered` collection with that path; its body has the value

select
    process_id,
    path,
    arg_max(seq, recency) as seq,
    max(answered_at) as answered_at,
    arg_max(source, recency) as source
from answers
group by process_id, path
