-- What follows from the entries about processes, as processes.sql or many_processes.sql has them.
with fact_attempt_starts as (
    from main.fact_attempt_starts where attempt_id in (from asked_attempt_ids)
),

fact_attempt_finishes as (
    from main.fact_attempt_finishes where attempt_id in (from asked_attempt_ids)
),

fact_sent_fields as (
    from main.fact_sent_fields where seq in (select seq from fact_attempt_starts)
),

-- Whether a process's seller was deleted, and of which type it is, is said by events of that seller.
sellers_of_asked as (
    select seller_id from fact_reviews
    union
    select seller_id from fact_attempt_starts
    union
    select seller_id from fact_attempt_finishes
    union
    select seller_id from fact_collections
),

fact_seller_events as (
    from main.fact_seller_events where seller_id in (from sellers_of_asked)
),

-- Only the type is asked of a seller's record: other reviews of the seller are left out.
fact_bank_account_events as (
    from main.fact_bank_account_events where seller_id in (from sellers_of_asked)
),

fact_answered_fields as (
    from main.fact_answered_fields where seq in (select seq from fact_collections)
),

fact_artifacts as (
    from main.fact_artifacts where seq in (select seq from fact_collections)
),

-- What is decided about the schedule of seller notices is about all processes, or those of a seller.
fact_actions as (
    from main.fact_actions where process_id in (from asked)
    union all
    from main.fact_actions
    where kind in ('notice_schedule', 'restoration') and process_id is null
),

fact_notices as (
    from main.fact_notices where process_id in (from asked)
),

fact_notice_results as (
    from main.fact_notice_results where message_id in (select message_id from fact_notices)
),

kept_attempts as (
    from main.kept_attempts where attempt_id in (from asked_attempt_ids)
)
