-- One row per bank account event, newest first. The contract does not show its payload: seller and
-- account are named as far as it identifies them.
-- reads: bank_account_events
-- key: event_id
-- order: created_at desc
-- order: event_id
-- by: seller_id
-- column: event_id | the platform's id of the event
-- column: event_type | text | bank_account.associated or bank_account.deleted
-- column: seller_id | the seller; null where the payload names none
-- column: bank_account_id | the account; null where the payload names none
-- column: created_at | when the platform created the event
-- column: occurred_at | when it was received
-- column: seq | the entry that counts for this event

select
    event_id,
    event_type,
    seller_id,
    bank_account_id,
    created_at,
    occurred_at,
    seq
from bank_account_events
