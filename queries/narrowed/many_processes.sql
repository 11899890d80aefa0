-- As processes.sql, for the many processes that a batch has touched. Most are new: only those of `former` are
-- looked for among the entries up to `covered`, which would be read whole. An action may be about a process that
-- has no row yet.
with fact_reviews as (
    from main.fact_reviews where seq > getvariable('covered') and process_id in (from asked)
    union all
    from main.fact_reviews where seq <= getvariable('covered') and process_id in (from former)
),

asked_attempt_ids as (
    select attempt_id
    from main.fact_attempt_starts
    where seq > getvariable('covered') and process_id in (from asked)
    union
    select attempt_id
    from main.fact_attempt_finishes
    where seq > getvariable('covered') and process_id in (from asked)
    union
    select attempt_id
    from main.fact_attempt_starts
    where seq <= getvariable('covered') and process_id in (from former)
    union
    select attempt_id
    from main.fact_attempt_finishes
    where seq <= getvariable('covered') and process_id in (from former)
),

fact_collections as (
    from main.fact_collections where seq > getvariable('covered') and process_id in (from asked)
    union all
    from main.fact_collections where seq <= getvariable('covered') and process_id in (from former)
)
