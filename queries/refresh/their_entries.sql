-- The deliveries about the sellers of `touched_sellers`.
select seq, process_id
from kept_timeline
where kind = 'webhook' and seller_id in (from touched_sellers)
