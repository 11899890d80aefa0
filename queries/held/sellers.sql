-- As processes.sql, for views that go by sellers. All processes are theirs that an entry of theirs is about: an
-- attempt's start and finish may each name another one, or only one of them the seller.
with kept_timeline as (
    from main.kept_timeline where seller_id in (from asked)
),

asked_attempts as (
    select attempt_id from kept_timeline
),

asked_processes as (
    select process_id from kept_timeline
    union
    select process_id from main.fact_attempt_starts where attempt_id in (from asked_attempts)
    union
    select process_id from main.fact_attempt_finishes where attempt_id in (from asked_attempts)
),

kept_attempts as (
    from main.kept_attempts where process_id in (from asked_processes)
),

kept_processes as (
    from main.kept_processes where process_id in (from asked_processes)
),

kept_sellers as (
    from main.kept_sellers
    where seller_id in (from asked union select seller_id from kept_processes)
),

fact_reviews as (
    from main.fact_reviews where process_id in (from asked_processes)
),

fact_seller_events as (
    from main.fact_seller_events where seller_id in (from asked)
),

fact_bank_account_events as (
    from main.fact_bank_account_events where seq in (select seq from kept_timeline)
),

kept_repeated_deliveries as (
    from main.kept_repeated_deliveries
    where seq in (
        select seq from fact_reviews
        union all
        select seq from fact_seller_events
        union all
        select seq from fact_bank_account_events
    )
),

fact_collections as (
    from main.fact_collections where process_id in (from asked_processes)
),

kept_repeated_collections as (
    from main.kept_repeated_collections where seq in (select seq from fact_collections)
),

fact_answered_fields as (
    from main.fact_answered_fields where seq in (select seq from fact_collections)
),

fact_actions as (
    from main.fact_actions where process_id in (from asked_processes)
    union all
    from main.fact_actions
    where kind in ('notice_schedule', 'restoration') and process_id is null
        and (
            seller_id is null
            or seller_id in (from asked union select seller_id from kept_processes)
        )
),

fact_notices as (
    from main.fact_notices where process_id in (from asked_processes)
),

fact_notice_results as (
    from main.fact_notice_results where message_id in (select message_id from fact_notices)
)
