-- One row per journey or artifact that several processes share and the kept row does not say so, or the
-- other way round.
-- reads: shared_subjects, kept.subjects
-- key: subject, side
-- column: subject | the journey's id or the artifact's digest
-- column: side | log or kept: which of the two has it and the other has not

with by_kept as (
    select subject from kept.subjects where is_shared
)

select subject, 'log' as side
from (from shared_subjects except all from by_kept)
union all
select subject, 'kept' as side
from (from by_kept except all from shared_subjects)
