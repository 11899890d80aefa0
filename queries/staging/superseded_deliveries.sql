-- One row per delivery that does not count at as_of, since another delivery of its event does.
-- key: seq

select seq
from repeated_deliveries
where superseded_at <= as_of()
