-- Sellers' own entries, as processes_of_sellers.sql has them.
with fact_seller_events as (
    from main.fact_seller_events where seller_id in (from asked_seller_ids)
),

fact_bank_account_events as (
    from main.fact_bank_account_events where seq in (select seq from asked_entries)
),

-- As for processes, with a limit that is never reached: it keeps what is asked of the seller from these, beside
-- which DuckDB would look for their processes in every row, and not in an index.
fact_reviews as (
    from main.fact_reviews where process_id in (from asked) limit 1_000_000_000
),

kept_processes as (
    from main.kept_processes where process_id in (from asked) limit 1_000_000_000
)
