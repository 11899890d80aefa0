-- One row: the instant at which every view is evaluated.
-- open to: analysts
-- key: as_of
-- column: as_of | the reader's `as_of`, or now; UTC

select as_of() as as_of
