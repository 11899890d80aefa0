-- One row per bank account event that counts, occurred by as_of.
-- key: event_id
-- column: seq | the entry that counts for this event
-- column: event_id | the platform's id of the event
-- column: event_type | text | bank_account.associated or bank_account.deleted
-- column: occurred_at | when it was received
-- column: created_at | when the platform created it; without that, when it was received
-- column: seller_id | the seller; null where the payload names none
-- column: bank_account_id | the account; null where the payload names none

select
    seq,
    event_id,
    event_type,
    occurred_at,
    created_at,
    seller_id,
    bank_account_id
from fact_bank_account_events
anti join superseded_deliveries using (seq)
where occurred_at <= as_of()
