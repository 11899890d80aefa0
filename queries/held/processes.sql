-- Which rows of the tables the views that go by processes need of the ids that are `asked`, where materialized rows
-- are up to date (pipeline/ledger/prepared.py). Each may name tables before it, and has these rows of them.
with kept_processes as (
    from main.kept_processes where process_id in (from asked)
),

kept_sellers as (
    from main.kept_sellers where seller_id in (select seller_id from kept_processes)
),

kept_attempts as (
    from main.kept_attempts where process_id in (from asked)
),

kept_field_evidence as (
    from main.kept_field_evidence where process_id in (from asked)
),

kept_timeline as (
    from main.kept_timeline where process_id in (from asked)
),

fact_collections as (
    from main.fact_collections where process_id in (from asked)
),

kept_repeated_collections as (
    from main.kept_repeated_collections where seq in (select seq from fact_collections)
),

fact_answered_fields as (
    from main.fact_answered_fields where seq in (select seq from fact_collections)
),

-- What is decided about the schedule of seller notices is about all processes, or those of a seller.
fact_actions as (
    from main.fact_actions where process_id in (from asked)
    union all
    from main.fact_actions
    where kind in ('notice_schedule', 'restoration') and process_id is null
        and (seller_id is null or seller_id in (select seller_id from kept_processes))
),

-- Those about other reviews of the sellers, too: an address that takes no message takes none about any.
fact_notices as (
    from main.fact_notices where process_id in (from asked)
    union
    from main.fact_notices where seller_id in (select seller_id from kept_processes)
),

fact_notice_results as (
    from main.fact_notice_results where message_id in (select message_id from fact_notices)
)
