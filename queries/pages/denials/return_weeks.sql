-- One row per week of the 12 that end with as_of's UTC day, oldest first: denied sellers that came back
-- as new ones in it, and what became of them (docs/rules.md#denials).
-- open to: analysts
-- key: ends_on
-- column: came_back | denied sellers whose first successor was created in it
-- column: cured | those of them one of whose successors was ever enabled
-- column: cure_rate | cured / came_back; null over nothing
-- column: median_seconds_to_cure | from their first denial until they were cured; null over nothing

select
    ends_on,
    count(seller_id) as came_back,
    count(*) filter (where is_cured) as cured,
    count(*) filter (where is_cured) / nullif(count(seller_id), 0) as cure_rate,
    quantile_disc(seconds_to_cure, 0.5) as median_seconds_to_cure
from past_weeks
left join returned_sellers on cast(came_back_at as date) between ends_on - 6 and ends_on
group by ends_on
