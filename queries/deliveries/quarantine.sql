-- One row per delivery that could not be read, newest first. Its bytes are in the log.
-- open to: analysts
-- key: seq
-- order: quarantined.seq desc
-- column: seq | the entry that holds the bytes
-- column: occurred_at | when it was received
-- column: recorded_at | when it was recorded
-- column: origin | word | live, or ingested from a file
-- column: reason | text | what is wrong with it
-- column: size_bytes | the body's size
-- column: replayed_as | the entry that it became once it could be read; null until then

with replays as (
    select replay_of, min(seq) as seq
    from fact_webhooks
    where replay_of is not null
    group by replay_of
)

select
    quarantined.seq,
    quarantined.occurred_at,
    quarantined.recorded_at,
    quarantined.origin,
    quarantined.reason,
    quarantined.size_bytes,
    replays.seq as replayed_as
from fact_quarantined as quarantined
left join replays on replays.replay_of = quarantined.seq
where quarantined.occurred_at <= as_of()
