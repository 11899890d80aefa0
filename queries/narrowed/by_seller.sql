-- What sellers can depend on, given their ids as `asked_seller_ids`: their own entries, and all of every
-- process that one of these is about. The other tables are those of `by_process.sql`.
with asked_entries as (
    select seq, process_id, attempt_id
    from materialized.timeline
    where seller_id in (from asked_seller_ids)
),

-- An attempt's start and finish may each name another process, or only one of them the seller.
asked as (
    select process_id from asked_entries where process_id is not null
    union
    select process_id from facts.attempt_starts
    where attempt_id in (select attempt_id from asked_entries)
    union
    select process_id from facts.attempt_finishes
    where attempt_id in (select attempt_id from asked_entries)
),

asked_seller_events as (
    from facts.seller_events where seller_id in (from asked_seller_ids)
),

asked_bank_account_events as (
    from facts.bank_account_events where seq in (select seq from asked_entries)
)

from asked_seller_ids
