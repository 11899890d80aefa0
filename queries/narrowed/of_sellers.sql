-- Sellers' own entries, as processes_of_sellers.sql has them.
with fact_seller_events as (
    from main.fact_seller_events where seller_id in (from asked_seller_ids)
),

fact_bank_account_events as (
    from main.fact_bank_account_events where seq in (select seq from asked_entries)
)
