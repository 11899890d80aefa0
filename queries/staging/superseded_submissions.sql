-- One row per submission entry that another of the same attempt and kind outranks: the earliest
-- counts, then the one with the smallest SHA-256 of its content (docs/rules.md#counting-once). Of those that
-- are equal, a live one comes before an ingested one: it knows how the attempt came in.
-- Which one counts does not depend on as_of: the earliest is visible whenever any other is.
-- key: seq
-- column: seq | the entry that does not count

with repeated_starts as (
    select distinct attempt_id from fact_attempt_starts where is_again
),

repeated_finishes as (
    select distinct attempt_id from fact_attempt_finishes where is_again
),

ranked as (
    select
        seq,
        row_number() over (
            partition by attempt_id
            order by occurred_at, content_sha256, via = 'ingested', via, seq
        ) as place
    from fact_attempt_starts
    semi join repeated_starts using (attempt_id)
    union all
    select
        seq,
        row_number() over (
            partition by attempt_id
            order by occurred_at, content_sha256, origin <> 'live', seq
        ) as place
    from fact_attempt_finishes
    semi join repeated_finishes using (attempt_id)
)

select seq
from ranked
where place > 1
