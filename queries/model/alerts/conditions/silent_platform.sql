-- One row while no delivery has come for longer than usual (docs/alerts.md#silence); none else.
-- in: alarming_conditions
-- key: kind, subject
--
-- condition: silence
-- place: 70
-- severity: risk
-- role: admin
-- name: The platform is silent
-- advice: Ask the platform whether it sends, and look at what stands between it and the receiver

select
    'silence' as condition,
    'silence' as kind,
    cast(epoch_us(last_at) as varchar) as subject,
    null as process_id,
    null as seller_id,
    since,
    seq
from delivery_silence
