-- One row per step of collection journeys: how many journeys took it, on the seller's page or on the
-- marketplace's own screens. What was added to one afterwards, such as a picture, does not count.
-- open to: analysts
-- key: step
-- column: journeys | journeys that took it

select step, count(distinct journey_id) as journeys
from journey_steps
where step = 'invited' or source = 'seller'
group by step
