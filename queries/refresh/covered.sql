-- How many entries the rows of processes cover, and whether anything after `after` repeats an event:
-- planning a statement takes longer than running it, so none is run for nothing.
select
    materialized_entries,
    exists (from fact_webhooks where seq > getvariable('after') and is_again) as has_repeats
from kept_watermark
