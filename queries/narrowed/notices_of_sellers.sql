-- The notices about other reviews of the sellers, too: an address that takes no message takes none about any.
with fact_notices as (
    from main.fact_notices where process_id in (from asked)
    union
    from main.fact_notices where seller_id in (from sellers_of_asked)
),

fact_notice_results as (
    from main.fact_notice_results where message_id in (select message_id from fact_notices)
)
