-- The processes that entries of sellers are about, given the sellers' ids as `asked_seller_ids`: what sellers
-- can depend on is all of these, and their own entries (of_sellers.sql). Each is gathered into one list first: DuckDB
-- takes what comes out of a list for few, and finds its rows by an index; else for thousands, and reads every row.
with asked_entries as (
    select seq, process_id, attempt_id
    from main.kept_timeline
    where seller_id in (from asked_seller_ids)
),

asked_attempts as (
    select unnest(list(attempt_id)) as attempt_id from asked_entries where attempt_id is not null
),

-- An attempt's start and finish may each name another process, or only one of them the seller.
asked as (
    select unnest(list(process_id)) as process_id
    from (
        select process_id from asked_entries where process_id is not null
        union
        select process_id from main.fact_attempt_starts
        where attempt_id in (from asked_attempts)
        union
        select process_id from main.fact_attempt_finishes
        where attempt_id in (from asked_attempts)
    )
)
