-- One row per delivery that does not count at as_of, since another delivery of its event does.
-- reads: repeated_deliveries
-- key: seq
-- column: seq | the delivery

select seq
from repeated_deliveries
where superseded_at <= as_of()
