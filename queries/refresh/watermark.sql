-- Says how far the rows are, at the end of a batch.
update kept_watermark set
    entries = getvariable('size'),
    materialized_entries = getvariable('covered'),
    settled_at = greatest(settled_at, (
        select max(occurred_at) from kept_timeline where seq > getvariable('after')
    ))
