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
-- column: expected_by_then | how many of those of this week and of the weeks before it are expected to expire
-- column: expected_by_then_low | lower end of its interval of 80 %
-- column: expected_by_then_high | upper end of it

with weeks as (
    select range + 1 as weeks_ahead, as_of() + to_days(cast(7 * (range + 1) as integer)) as ends_at
    from range(8)
),

-- What is open now, in the week of its deadline.
coming as (
    select weeks_ahead, ends_at, process_id, chance, chance_low, chance_high
    from weeks
    left join forecast on deadline_at > ends_at - interval 7 day and deadline_at <= ends_at
),

-- What chance does to each alone (its square), and how far the chances themselves may be off, which they share.
summed as (
    select
        weeks_ahead,
        any_value(ends_at) as ends_at,
        struct_pack(
            due := count(process_id),
            forecast := count(chance),
            expected := coalesce(sum(1 - chance), 0),
            less := coalesce(sum(chance_high - chance), 0),
            more := coalesce(sum(chance - chance_low), 0),
            luck := deviations_of_forecasts() * deviations_of_forecasts()
                * coalesce(sum(chance * (1 - chance)), 0)
        ) as alone
    from coming
    group by weeks_ahead
),

with_those_before as (
    select
        weeks_ahead,
        ends_at,
        alone,
        struct_pack(
            due := sum(alone.due) over by_then,
            forecast := sum(alone.forecast) over by_then,
            expected := sum(alone.expected) over by_then,
            less := sum(alone.less) over by_then,
            more := sum(alone.more) over by_then,
            luck := sum(alone.luck) over by_then
        ) as together
    from summed
    window by_then as (order by weeks_ahead)
),

measured as (
    select
        weeks_ahead,
        ends_at,
        alone,
        expected_expiries(alone) as week,
        expected_expiries(together) as by_then
    from with_those_before
)

select
    weeks_ahead,
    in_calendar(ends_at) as ends_at,
    alone.due as due,
    alone.due - alone.forecast as without_chance,
    week.expected as expected,
    week.low as expected_low,
    week.high as expected_high,
    by_then.expected as expected_by_then,
    by_then.low as expected_by_then_low,
    by_then.high as expected_by_then_high
from measured
