-- One row per seller, and side of the comparison, whose kept row is not what the log says of it.
-- Nothing is compared while entries lie after as_of: a kept row tells of those too.
-- reads: clock, seller_records, kept.sellers, kept.progress
-- key: seller_id, side
-- column: seller_id | the seller
-- column: side | log or kept: which of the two has this row and the other has not

select seller_id, side
from (
    (select seller_id, 'log' as side from (from seller_records except from kept.sellers))
    union all
    (select seller_id, 'kept' as side from (from kept.sellers except from seller_records))
)
where (select kept = entries and settled_at <= (select as_of from clock) from kept.progress)
