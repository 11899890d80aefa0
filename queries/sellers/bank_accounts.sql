-- One row per bank account event, newest first. The contract does not show its payload: seller and
-- account are named as far as it identifies them.
-- key: event_id
-- order: created_at desc, event_id
-- by: seller_id

select
    event_id,
    event_type,
    seller_id,
    bank_account_id,
    created_at,
    occurred_at,
    seq
from bank_account_events
