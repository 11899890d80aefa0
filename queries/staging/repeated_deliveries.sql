-- One row per delivery of an event id that came more than once: which version of the event it is, and
-- from when on another delivery says what counts (docs/rules.md#counting-once).
--
-- Deliveries of one content are one version, and the earliest of them counts. Each version of a
-- review event counts; of the others only the latest does. None of this depends on as_of but by
-- `superseded_at`: the earliest delivery of a version is visible whenever any other is.
-- key: seq
-- column: seq | the delivery
-- column: event_id | the platform's id, or sha256:<digest of the body> without one
-- column: is_version | the delivery that counts for its version
-- column: is_altered | it says something else than the first version of its event
-- column: superseded_at | from when it does not count; null where that is never

with repeated as (
    select distinct event_id
    from fact_webhooks
    where is_again
),

ranked as (
    select
        seq,
        event_id,
        event_type,
        created_at,
        occurred_at,
        content_sha256,
        row_number() over (
            partition by event_id, content_sha256 order by occurred_at, seq
        ) = 1 as is_version,
        content_sha256 <> first_value(content_sha256) over (
            partition by event_id order by occurred_at, content_sha256
        ) as is_altered
    from fact_webhooks
    semi join repeated using (event_id)
),

outranked as (
    select
        seq,
        min(occurred_at) over (
            partition by event_id
            order by coalesce(created_at, occurred_at) desc, occurred_at desc, content_sha256 desc
            rows between unbounded preceding and 1 preceding
        ) as superseded_at
    from ranked
    where is_version and event_type <> 'regulatory.registration.review.required'
)

select
    ranked.seq,
    event_id,
    is_version,
    is_altered,
    case when is_version then superseded_at else occurred_at end as superseded_at
from ranked
left join outranked on outranked.seq = ranked.seq
