-- One row per week of the 12 that end with as_of's UTC day, oldest first: denied sellers that came back
-- as new ones in it, and what became of them (docs/rules.md#denials).
-- reads: clock, seller_records
-- key: ends_on
-- order: ends_on
-- column: ends_on | last UTC day of the week
-- column: came_back | denied sellers whose first successor was created in it
-- column: cured | those of them one of whose successors was ever enabled
-- column: cure_rate | cured / came_back; null over nothing

with weeks as (
    select cast(as_of as date) - cast(7 * back as integer) as ends_on
    from clock, range(12) as offsets (back)
    -- At the beginning of the calendar there are fewer: no program has a date before it.
    where datediff('day', date '0001-01-01', cast(as_of as date)) >= 7 * back
),

returned as (
    select
        denied.seller_id,
        cast(min(successors.created_at) as date) as day,
        bool_or(successors.was_enabled) as is_cured
    from seller_records as denied
    join seller_records as successors
        on successors.taxpayer_key = denied.taxpayer_key
        and successors.seller_id <> denied.seller_id
        and successors.created_at > denied.first_denied_at
    group by denied.seller_id
)

select
    ends_on,
    count(seller_id) as came_back,
    count(*) filter (where is_cured) as cured,
    count(*) filter (where is_cured) / nullif(count(seller_id), 0) as cure_rate
from weeks
left join returned on day between ends_on - 6 and ends_on
group by ends_on
