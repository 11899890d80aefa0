-- One row per entry whose seq does not follow the one before: the log holds 1, 2, 3 ... and no other.
-- key: seq, previous_seq
-- column: seq | the entry
-- column: previous_seq | the entry before it in the log; null for the first

with ordered as (
    select seq, lag(seq) over (order by seq) as previous_seq
    from log
)

select seq, previous_seq
from ordered
where seq <> coalesce(previous_seq, 0) + 1
