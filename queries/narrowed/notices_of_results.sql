-- The notices of the messages that results are about, and those among the entries themselves.
with fact_notices as (
    from main.fact_notices where message_id in (select message_id from fact_notice_results)
    union
    from main.fact_notices where seq in (select seq from log)
)
