-- Processes with attempts for the sellers that attempts for the processes of `asked` name: what was sent
-- for one of them may be sent again for another. What was sent is known of starts alone, and is of the
-- process that the start names. Only one of start and finish may name the seller; where neither does, it
-- is its process's.
with own as (
    select attempt_id from fact_attempt_starts where process_id in (from asked)
),

sellers as (
    select seller_id from fact_attempt_starts where attempt_id in (from own)
    union
    select seller_id from fact_attempt_finishes where attempt_id in (from own)
    union
    select seller_id from fact_reviews where process_id in (from asked)
    union
    select seller_id from fact_collections where process_id in (from asked)
),

entries as (
    select attempt_id, process_id from kept_timeline where seller_id in (from sellers)
),

theirs as (
    select attempt_id from entries where attempt_id is not null
)

select process_id from fact_attempt_starts where attempt_id in (from theirs)
union
select process_id
from fact_attempt_starts
where seller_id is null and process_id in (select process_id from entries)
