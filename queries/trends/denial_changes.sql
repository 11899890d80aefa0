-- One row per reason and detail of denials of the 60 days before as_of: the last 30 beside the 30 before
-- (docs/rules.md#over-time), most in the last 30 first.
-- open to: analysts
-- key: reason, detail
-- order: denials_now desc, denials_before desc, reason, detail nulls first
-- column: reason | text | category of the denial
-- column: detail | text | the specific detail; null where there is none
-- column: denials_now | denials that carry the pair, of the last 30 days
-- column: denials_before | those of the 30 days before
-- column: times | denials_now / denials_before; null over nothing
-- column: times_low | lower end of its interval of 95 %
-- column: times_high | upper end of it; null where there is none, since there were none before
-- column: is_more_than_chance | all of the interval is above 1, or all of it below

with pairs as (
    select
        unnest(reason_pairs(reasons)) as pair,
        created_at > as_of() - interval 30 day as is_now
    from seller_events
    where event_type = 'seller.denied'
        and created_at > as_of() - interval 60 day
        and created_at <= as_of()
),

counted as (
    select
        pair.reason as reason,
        pair.detail as detail,
        count(*) filter (where is_now) as denials_now,
        count(*) filter (where not is_now) as denials_before,
        count(*) as denials
    from pairs
    group by all
),

-- Wilson's interval of the part that came last: half of them would, if nothing but chance changed.
-- Its deviations are those of `pipeline/trends/in_time.py`.
measured as (
    select
        *,
        wilson_interval(denials_now / denials, denials, cast(1.959963984540054 as double)) as likely
    from counted
)

select
    reason,
    detail,
    denials_now,
    denials_before,
    denials_now / nullif(denials_before, 0) as times,
    case when denials_now > 0 then (likely.middle - likely.half) / (1 - likely.middle + likely.half) else 0 end as times_low,
    case when denials_before > 0 then (likely.middle + likely.half) / (1 - likely.middle - likely.half) end as times_high,
    likely.middle - likely.half > 0.5 or likely.middle + likely.half < 0.5 as is_more_than_chance
from measured
