-- One row per delivery that another delivery of the same event id outranks: the earliest counts,
-- then the one with the smallest SHA-256 of its body (rules.md section 1).
-- Which one counts does not depend on as_of: the earliest is visible whenever any other is.
-- reads: facts.webhooks
-- key: seq
-- column: seq | the delivery that does not count for state
-- column: event_id | its event
-- column: is_altered | its bytes differ from those of the delivery that counts

with repeated as (
    select distinct event_id
    from facts.webhooks
    where is_again
),

ranked as (
    select
        seq,
        event_id,
        body_sha256,
        row_number() over best_first as place,
        first_value(body_sha256) over best_first as counted_sha256
    from facts.webhooks
    semi join repeated using (event_id)
    window best_first as (
        partition by event_id order by occurred_at, body_sha256, seq
    )
)

select
    seq,
    event_id,
    body_sha256 <> counted_sha256 as is_altered
from ranked
where place > 1
