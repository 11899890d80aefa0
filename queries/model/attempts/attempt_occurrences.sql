-- One row per process that a start or a finish of an attempt names, and entry of that attempt: both
-- count for both processes that they may name.
-- key: process_id, seq
-- column: process_id | the platform's id of the review process
-- column: seq | the entry
-- column: occurred_at | when it occurred

with named as (
    select process_id, attempt_id from fact_attempt_starts
    union
    select process_id, attempt_id from fact_attempt_finishes
)

select named.process_id, starts.seq, starts.occurred_at
from named
join fact_attempt_starts as starts on starts.attempt_id = named.attempt_id
union all
select named.process_id, finishes.seq, finishes.occurred_at
from named
join fact_attempt_finishes as finishes on finishes.attempt_id = named.attempt_id
