-- One row per result or retraction that names no process, and process that its message speaks of, whenever that
-- is said; before that, one without a process.
-- key: seq, process_id
-- column: seq | the entry that names no process
-- column: process_id | the platform's id of a review process that the message speaks of
-- column: seller_id | the seller that the first notice of it names
-- column: shown_from | from when on that is known
-- column: shown_until | of the row without a process: until when no notice says of which it speaks

with pairs as (
    select
        results.seq,
        results.occurred_at,
        notices.process_id,
        arg_min_null(
            notices.seller_id,
            struct_pack(notices.occurred_at, notices.content_sha256, notices.seq)
        ) as seller_id,
        greatest(results.occurred_at, min(notices.occurred_at)) as shown_from
    from fact_notice_results as results
    join fact_notices as notices on notices.message_id = results.message_id
    where results.process_id is null
    group by results.seq, results.occurred_at, notices.process_id
)

select
    seq,
    process_id,
    seller_id,
    shown_from,
    null::timestamp as shown_until
from pairs
union all
select
    seq,
    null as process_id,
    null as seller_id,
    occurred_at as shown_from,
    min(shown_from) as shown_until
from pairs
group by seq, occurred_at
having min(shown_from) > occurred_at
