-- The notices of the messages that results are about.
with fact_notices as (
    from main.fact_notices where message_id in (select message_id from fact_notice_results)
)
