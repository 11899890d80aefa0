-- One row per note on a process or a seller that nobody took back, newest first.
-- key: seq
-- order: occurred_at desc, seq desc
-- by: process_id
-- column: seq | the entry of the note
-- column: process_id | the review process it is on; null where it is on none
-- column: seller_id | the seller it is on; null where it is on none
-- column: noted_at | when it was written
-- column: actor | staff | who wrote it
-- column: note | text | what it says

with said as (
    select
        seq,
        process_id,
        seller_id,
        occurred_at,
        actor,
        reason,
        step,
        content ->> '$.note_id' as note_id
    from fact_actions
    where kind = 'note'
        and occurred_at <= as_of()
)

select
    seq,
    process_id,
    seller_id,
    occurred_at as noted_at,
    actor,
    reason as note
from said
where step is null
    and coalesce(note_id not in (
        select note_id from said as taken_back where step = 'taken_back' and note_id is not null
    ), true)
