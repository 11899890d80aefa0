-- Takes away the sellers without an event: of an event that came again with another seller, the first
-- may have had no other.
delete from kept_sellers
where seller_id in (from touched_sellers)
    and seller_id not in (
        select seller_id
        from fact_seller_events
        where seller_id in (from touched_sellers)
            and seq not in (
                select seq from kept_repeated_deliveries where superseded_at is not null
            )
    )
