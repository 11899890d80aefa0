-- One row: the instant at which every view is evaluated.
-- reads:
-- key: as_of
-- column: as_of | the reader's `as_of`, or now; UTC

select coalesce(
    cast(getvariable('as_of') as timestamp),
    cast(now() at time zone 'UTC' as timestamp)
) as as_of
