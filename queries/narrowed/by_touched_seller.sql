-- What the records of the sellers in `touched_sellers` depend on, given their entries as
-- `their_entries`.
with asked_seller_events as (
    from facts.seller_events where seller_id in (from touched_sellers)
),

asked_reviews as (
    from facts.reviews where process_id in (select process_id from their_entries)
),

asked_bank_account_events as (
    from facts.bank_account_events where seq in (select seq from their_entries)
)

from touched_sellers
