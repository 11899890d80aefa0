-- One row per seller with a review that is PENDING, OVERDUE or EXPIRED, what can still be saved first, as the
-- reviews themselves are ordered (docs/rules.md#queues): the earliest deadline ahead, the soonest first; then sellers
-- of whom all has expired, the latest first.
-- key: seller_id
-- order: next_savable_deadline_at nulls last, next_deadline_at desc, seller_id
-- by: seller_id

select * from seller_watchlist
