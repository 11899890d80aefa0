-- What the records of the sellers in `touched_sellers` depend on, given their entries as
-- `their_entries`.
with fact_seller_events as (
    from main.fact_seller_events where seller_id in (from touched_sellers)
),

fact_reviews as (
    from main.fact_reviews where process_id in (select process_id from their_entries)
),

fact_bank_account_events as (
    from main.fact_bank_account_events where seq in (select seq from their_entries)
)
