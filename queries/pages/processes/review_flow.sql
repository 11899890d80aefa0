-- One row per type of review and where its processes stand, over those opened in the 90 days
-- before as_of.
-- open to: analysts
-- key: review_type, ends_as
-- column: review_type | word | the type, such as ACP
-- column: ends_as | word | finished_in_time, finished_late, pending, overdue or expired
-- column: processes | how many
-- column: end_share | processes of either type that stand there / all of them

with standing as (
    select
        review_type,
        case
            when state = 'FINISHED' and finished_late then 'finished_late'
            when state = 'FINISHED' then 'finished_in_time'
            else lower(state)
        end as ends_as,
        count(*) as processes
    from process_state
    where review_type is not null
        and opened_at > as_of() - interval 90 day
    group by all
)

select
    review_type,
    ends_as,
    processes,
    sum(processes) over (partition by ends_as) / sum(processes) over () as end_share
from standing
