-- How many entries the rows of processes cover, and whether anything after `after` repeats an event, or
-- is a collection: planning a statement takes longer than running it, so none is run for nothing.
select
    materialized_entries,
    exists (from facts.webhooks where seq > getvariable('after') and is_again) as has_repeats,
    exists (from facts.collections where seq > getvariable('after')) as has_collections
from materialized.watermark
