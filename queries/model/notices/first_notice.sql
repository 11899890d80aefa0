-- One row: since when the log says how sellers are notified; none where it says nothing by as_of.
-- key: first_at
-- column: first_at | when the first of all seller notices happened

select min(occurred_at) as first_at
from timeline
where kind = 'seller_notice'
having first_at is not null
