-- What the many processes of `touched` can depend on. Most are new: only those of `former` are looked for
-- among the entries up to `covered`, which would be read whole. An action may be about a process that has
-- no row yet. The other tables are those of `by_process.sql`.
with asked_reviews as (
    from facts.reviews where seq > getvariable('covered') and process_id in (from asked)
    union all
    from facts.reviews where seq <= getvariable('covered') and process_id in (from former)
),

asked_attempt_ids as (
    select attempt_id
    from facts.attempt_starts
    where seq > getvariable('covered') and process_id in (from asked)
    union
    select attempt_id
    from facts.attempt_finishes
    where seq > getvariable('covered') and process_id in (from asked)
    union
    select attempt_id
    from facts.attempt_starts
    where seq <= getvariable('covered') and process_id in (from former)
    union
    select attempt_id
    from facts.attempt_finishes
    where seq <= getvariable('covered') and process_id in (from former)
),

asked_collections as (
    from facts.collections where seq > getvariable('covered') and process_id in (from asked)
    union all
    from facts.collections where seq <= getvariable('covered') and process_id in (from former)
)

from asked
