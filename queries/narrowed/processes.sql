-- What processes can depend on, given their ids as `asked`, in two parts: which entries are about them, and
-- what follows from these (of_processes.sql). Of each table that a view reads by its name, these are the rows
-- that its rows of these processes can follow from. Which delivery of an event counts is in a table that never waits.
with fact_reviews as (
    from main.fact_reviews where process_id in (from asked)
),

-- So are an attempt's start and finish, which may name two processes.
asked_attempt_ids as (
    select attempt_id from main.fact_attempt_starts where process_id in (from asked)
    union
    select attempt_id from main.fact_attempt_finishes where process_id in (from asked)
),

fact_collections as (
    from main.fact_collections where process_id in (from asked)
)
