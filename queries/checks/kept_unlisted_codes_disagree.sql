-- One row per code of an entry, and side of the comparison, that is kept and not in the log, or the other
-- way round.
-- reads: unlisted_codes, kept.unlisted_codes
-- key: seq, kind, code, side
-- column: seq | the entry
-- column: kind | which code it is
-- column: code | the code
-- column: side | log or kept: which of the two has this row and the other has not

select seq, kind, code, 'log' as side
from (from unlisted_codes except all from kept.unlisted_codes)
union all
select seq, kind, code, 'kept' as side
from (from kept.unlisted_codes except all from unlisted_codes)
