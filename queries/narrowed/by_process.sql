-- What processes can depend on, given their ids as `asked`: of each table, the rows that a view's rows
-- of these processes can follow from. A view that is narrowed reads `asked_reviews` in place of
-- `facts.reviews`, and so on. Which delivery of an event counts is in a table that never waits.
with asked_reviews as (
    from facts.reviews where process_id in (from asked)
),

-- So are an attempt's start and finish, which may name two processes.
asked_attempt_ids as (
    select attempt_id from facts.attempt_starts where process_id in (from asked)
    union
    select attempt_id from facts.attempt_finishes where process_id in (from asked)
),

asked_attempt_starts as (
    from facts.attempt_starts where attempt_id in (from asked_attempt_ids)
),

asked_attempt_finishes as (
    from facts.attempt_finishes where attempt_id in (from asked_attempt_ids)
),

asked_sent_fields as (
    from facts.sent_fields where seq in (select seq from asked_attempt_starts)
),

asked_collections as (
    from facts.collections where process_id in (from asked)
),

-- Whether a process's seller was deleted, and of which type it is, is said by events of that seller.
sellers_of_asked as (
    select seller_id from asked_reviews
    union
    select seller_id from asked_attempt_starts
    union
    select seller_id from asked_attempt_finishes
    union
    select seller_id from asked_collections
),

asked_seller_events as (
    from facts.seller_events where seller_id in (from sellers_of_asked)
),

-- Only the type is asked of a seller's record: other reviews of the seller are left out.
asked_bank_account_events as (
    from facts.bank_account_events where seller_id in (from sellers_of_asked)
),

asked_answered_fields as (
    from facts.answered_fields where seq in (select seq from asked_collections)
),

asked_artifacts as (
    from facts.artifacts where seq in (select seq from asked_collections)
),

asked_actions as (
    from facts.actions where process_id in (from asked)
),

asked_notices as (
    from facts.notices where process_id in (from asked)
),

asked_notice_results as (
    from facts.notice_results where message_id in (select message_id from asked_notices)
),

asked_processes as (
    from materialized.processes where process_id in (from asked)
),

asked_attempts as (
    from materialized.attempts where attempt_id in (from asked_attempt_ids)
),

asked_field_evidence as (
    from materialized.field_evidence where process_id in (from asked)
),

asked_findings as (
    from materialized.findings where process_id in (from asked)
)

from asked
