-- One row per seller event that counts and carries a seller record, occurred by as_of.
-- Personal columns stand here as they came; only views that mask them are shown to readers.
-- reads: clock, superseded_deliveries, facts.seller_events
-- key: event_id
-- column: * | as in facts.seller_events (queries/schema.sql)

select *
from facts.seller_events
anti join superseded_deliveries using (seq)
where occurred_at <= (select as_of from clock)
