-- One row per calendar feed of deadlines that somebody made (docs/alerts.md#calendar).
-- key: feed_id
-- order: made_at, feed_id
-- column: feed_id | its name, by which it is revoked
-- column: assignee | staff | whose deadlines it has; null for those of all
-- column: made_at | when it was made
-- column: actor | staff | who made it
-- column: token_sha256 | digest | SHA-256 of the secret in its address, hex; the secret itself is kept nowhere
-- column: revoked_at | when it was revoked; null while it is open
-- column: revoked_by | staff | who revoked it; null while it is open
-- column: seq | the entry that made it

with steps as (
    select content ->> '$.feed' as feed_id, step, occurred_at, actor, content, seq
    from fact_actions
    where kind = 'calendar' and occurred_at <= as_of()
),

revoked as (
    select feed_id, min(occurred_at) as revoked_at, arg_min(actor, seq) as revoked_by
    from steps
    where step = 'revoked'
    group by feed_id
)

select
    steps.feed_id,
    content ->> '$.assignee' as assignee,
    occurred_at as made_at,
    actor,
    content ->> '$.token_sha256' as token_sha256,
    revoked_at,
    revoked_by,
    seq
from steps
left join revoked on revoked.feed_id = steps.feed_id
where step = 'made' and steps.feed_id is not null
qualify row_number() over (partition by steps.feed_id order by seq) = 1
