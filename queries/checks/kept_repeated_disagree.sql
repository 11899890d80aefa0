-- One row per collection that is kept as a repetition and is none, or the other way round.
-- reads: repeated_collections, kept.repeated_collections
-- key: seq, side
-- column: seq | the entry
-- column: side | log or kept: which of the two says so

select seq, 'log' as side
from (from repeated_collections except all from kept.repeated_collections)
union all
select seq, 'kept' as side
from (from kept.repeated_collections except all from repeated_collections)
