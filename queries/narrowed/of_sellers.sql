-- Sellers' own entries, as processes_of_sellers.sql has them, and again those about their processes, each with a
-- limit that is never reached: it keeps from these what is asked of the seller, or of rows that are joined with them,
-- beside which DuckDB would look in every row, and not in an index.
with fact_seller_events as (
    from main.fact_seller_events where seller_id in (from asked_seller_ids) limit 1_000_000_000
),

fact_bank_account_events as (
    from main.fact_bank_account_events where seq in (select seq from asked_entries)
),

fact_reviews as (
    from main.fact_reviews where process_id in (from asked) limit 1_000_000_000
),

fact_collections as (
    from main.fact_collections where process_id in (from asked) limit 1_000_000_000
),

fact_attempt_starts as (
    from main.fact_attempt_starts where attempt_id in (from asked_attempt_ids) limit 1_000_000_000
),

fact_attempt_finishes as (
    from main.fact_attempt_finishes where attempt_id in (from asked_attempt_ids) limit 1_000_000_000
),

kept_attempts as (
    from main.kept_attempts where attempt_id in (from asked_attempt_ids) limit 1_000_000_000
),

kept_processes as (
    from main.kept_processes where process_id in (from asked) limit 1_000_000_000
)
