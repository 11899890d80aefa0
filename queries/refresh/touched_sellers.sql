-- Of `named_sellers` the ones with an event of their own, since the others have no row. Most new reviews are
-- about one of the others.
select distinct seller_id from fact_seller_events where seller_id in (from named_sellers)
