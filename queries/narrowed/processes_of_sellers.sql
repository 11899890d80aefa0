-- The processes that entries of sellers are about, given the sellers' ids as `asked_seller_ids`: what sellers
-- can depend on is all of these, and their own entries (of_sellers.sql).
with asked_entries as (
    select seq, process_id, attempt_id
    from main.kept_timeline
    where seller_id in (from asked_seller_ids)
),

-- An attempt's start and finish may each name another process, or only one of them the seller.
asked as (
    select process_id from asked_entries where process_id is not null
    union
    select process_id from main.fact_attempt_starts
    where attempt_id in (select attempt_id from asked_entries)
    union
    select process_id from main.fact_attempt_finishes
    where attempt_id in (select attempt_id from asked_entries)
)
