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
-- column: stands_out | at least 10 attempts, and share_low is above others_share

with days as (
    select
        cast(ordered_at as date) as day,
        count(*) as attempts,
        count(*) filter (where outcome not in ('accepted', 'in_flight')) as failed
    from attempts, clock
    where outcome <> 'refused' and cast(ordered_at as date) > cast(as_of as date) - 30
    group by cast(ordered_at as date)
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
    coalesce(attempts >= 10 and likely.middle - likely.half > others_share, false) as stands_out
from compared
