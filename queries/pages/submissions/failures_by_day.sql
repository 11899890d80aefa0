-- One row per UTC day with attempts, of the 30 that end with as_of's: whether its failures stand out from those of the
-- other days (docs/rules.md#over-time).
-- open to: analysts
-- key: day
-- column: day | UTC day of the start
-- column: attempts | how many started on it
-- column: failed | those of them that ended otherwise than accepted
-- column: share | failed / attempts
-- column: share_low | lower end of its interval of 99 %
-- column: others_share | the same share over all the other days together; null without any
-- column: most_of_one | failed attempts of the process that has most of them; 0 without any
-- column: most_of | id | that process, the first by id of several; null without any
-- column: stands_out | at least 10 attempts, and share_low is above others_share

with days_of_processes as (
    select
        cast(ordered_at as date) as day,
        process_id,
        count(*) as attempts,
        count(*) filter (where outcome not in ('accepted', 'in_flight')) as failed
    from attempts, clock
    where outcome <> 'refused' and cast(ordered_at as date) > cast(as_of as date) - 30
    group by cast(ordered_at as date), process_id
),

days as (
    select
        day,
        cast(sum(attempts) as bigint) as attempts,
        cast(sum(failed) as bigint) as failed,
        max(failed) as most_of_one,
        arg_min(process_id, struct_pack(fewer := -failed, process_id)) filter (where failed > 0) as most_of
    from days_of_processes
    group by day
),

compared as (
    select
        *,
        failed / attempts as share,
        (sum(failed) over () - failed) / nullif(sum(attempts) over () - attempts, 0) as others_share,
        wilson_interval(failed / attempts, attempts, cast(2.5758293035489004 as double)) as likely
    from days
)

select
    day,
    attempts,
    failed,
    share,
    likely.middle - likely.half as share_low,
    others_share,
    most_of_one,
    most_of,
    coalesce(attempts >= 10 and likely.middle - likely.half > others_share, false) as stands_out
from compared
