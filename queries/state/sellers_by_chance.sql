-- One row per seller with a review that is PENDING, OVERDUE or EXPIRED, the lowest chance of any of them to be finished
-- in time first (docs/rules.md#forecast). Those without a chance come last.
-- key: seller_id
-- order: lowest_chance nulls last, worst_state, next_deadline_at, seller_watchlist.seller_id
-- column: seller_id | the seller under review
-- column: lowest_chance | the lowest chance of these reviews; null where none has one

with lowest as (
    select seller_id, min(chance) as lowest_chance
    from forecast
    group by seller_id
)

select
    seller_watchlist.*,
    lowest_chance
from seller_watchlist
left join lowest on lowest.seller_id = seller_watchlist.seller_id
