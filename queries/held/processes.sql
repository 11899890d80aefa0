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
),

kept_findings as (
    from main.kept_findings where process_id in (from asked)
),

fact_reviews as (
    from main.fact_reviews where process_id in (from asked)
),

fact_unreadable_parts as (
    from main.fact_unreadable_parts where process_id in (from asked)
),

kept_repeated_deliveries as (
    from main.kept_repeated_deliveries
    where seq in (
        select seq from kept_timeline
        union all
        select seq from fact_reviews
        union all
        select seq from fact_unreadable_parts
    )
),

-- Why a finding of a process may follow from entries about others, too: somebody else used its journey or artifact,
-- it came with a code that no list has, an alert about it did not arrive, or nobody contacted its seller in time
-- although somebody's seller had been contacted before.
decided_by_others as (
    select subject as reason
    from main.kept_subjects
    where is_shared
        and subject in (
            select journey_id from fact_collections
            union all
            select sha256 from main.fact_artifacts where seq in (select seq from fact_collections)
        )
    union all
    select code from main.kept_unlisted_codes where process_id in (from asked)
    union all
    select kind from fact_actions where kind = 'alert' and step = 'undelivered'
    union all
    select process_id
    from kept_processes
    where coalesce(unnotified_from, late_notice_from) is not null
        and opened_at >= (select min(occurred_at) from main.fact_notices)
)
