-- One row per each of the 8 weeks of 7 days after as_of: how many of the processes that are open now are expected
-- to be unfinished at a deadline in it (docs/rules.md#forecast). Those that are still to come have no part in it.
-- open to: analysts
-- key: weeks_ahead
-- column: weeks_ahead | 1 for the next 7 days, 8 for the last of them
-- column: ends_at | the last instant of it
-- column: due | open processes with their deadline in it
-- column: without_chance | those of them of which nothing can be said, and that are counted in nothing else
-- column: expected | how many of the others are expected to expire; null where there are only such
-- column: expected_low | lower end of its interval of 80 %
-- column: expected_high | upper end of it

with weeks as (
    select range + 1 as weeks_ahead, as_of() + to_days(cast(7 * (range + 1) as integer)) as ends_at
    from range(8)
),

-- What chance does to each alone, and how far the chances themselves may be off, which they share.
summed as (
    select
        weeks_ahead,
        any_value(ends_at) as ends_at,
        count(process_id) as due,
        count(chance) as forecast,
        sum(1 - chance) as expected,
        sum(chance_high - chance) as less,
        sum(chance - chance_low) as more,
        deviations_of_forecasts() * sqrt(sum(chance * (1 - chance))) as luck
    from weeks
    left join forecast on deadline_at > ends_at - interval 7 day and deadline_at <= ends_at
    group by weeks_ahead
)

select
    weeks_ahead,
    in_calendar(ends_at) as ends_at,
    due,
    due - forecast as without_chance,
    case when due = 0 then 0 else expected end as expected,
    case
        when due = 0 then 0
        when forecast > 0 then greatest(expected - sqrt(less * less + luck * luck), 0)
    end as expected_low,
    case
        when due = 0 then 0
        when forecast > 0 then least(expected + sqrt(more * more + luck * luck), forecast)
    end as expected_high
from summed
