-- One row: how few reasons explain most denials, and what became of the sellers denied.
-- open to: analysts
-- key: denials
-- column: denials | denials in all
-- column: denials_this_week | those of the 7 UTC days that end with as_of's
-- column: denials_week_before | those of the 7 UTC days before
-- column: denials_this_month | those of as_of's calendar month, in UTC, so far
-- column: denials_month_before | those of the calendar month before, whole
-- column: vital_reasons | reasons that together reach 80 % of all reasons given
-- column: vital_share | the share that they reach; null over nothing
-- column: retryable_share | denials with retry = true / denials that carry a retry; null over nothing
-- column: reonboarded | denied sellers that came back as new ones
-- column: median_seconds_to_cure | from the first denial of a cured seller to the first time that a successor was enabled: the median by nearest rank; null over nothing
-- column: wasted_retries | reonboarded sellers whose denial had said retry = false

with few as (
    select
        count(*) filter (where is_vital) as vital_reasons,
        max(cumulative_share) filter (where is_vital) as vital_share
    from denial_pareto
),

counted as (
    select
        count(*) as denials,
        count(*) filter (where days_ago between 0 and 6) as denials_this_week,
        count(*) filter (where days_ago between 7 and 13) as denials_week_before,
        count(*) filter (where months_ago = 0) as denials_this_month,
        count(*) filter (where months_ago = 1) as denials_month_before
    from (
        select
            cast(as_of as date) - cast(denied_at as date) as days_ago,
            datediff('month', cast(denied_at as date), cast(as_of as date)) as months_ago
        from denials, clock
    )
),

cures as (
    select quantile_disc(seconds_to_cure, 0.5) as median_seconds_to_cure from returned_sellers
)

select
    denials,
    denials_this_week,
    denials_week_before,
    denials_this_month,
    denials_month_before,
    vital_reasons,
    vital_share,
    denied_sellers,
    retryable_share,
    reonboarded,
    reonboarding_rate,
    cured,
    cure_rate,
    median_seconds_to_cure,
    wasted_retries
from few, counted, cures, denial_retries
