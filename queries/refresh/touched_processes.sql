-- Processes of the entries after `covered`, and of older ones that a new entry outranks or completes.
with touched_attempts as (
    select attempt_id from fact_attempt_starts where seq > getvariable('covered')
    union
    select attempt_id from fact_attempt_finishes where seq > getvariable('covered')
)

select process_id from fact_reviews where seq > getvariable('covered')
union
select process_id from fact_collections where seq > getvariable('covered')
union
select process_id from fact_actions
where seq > getvariable('covered')
    and touches_process(kind)
    and process_id is not null
union
select process_id from fact_attempt_starts where attempt_id in (from touched_attempts)
union
select process_id from fact_attempt_finishes where attempt_id in (from touched_attempts)
union
select process_id from fact_notices where message_id in (
    select message_id from fact_notice_results
    where seq > getvariable('covered') and process_id is null
)
