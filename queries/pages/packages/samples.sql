-- One row per sample of processes that was drawn from a period, the newest first: a package that was
-- begun, whether or not somebody took it away.
-- key: seq
-- order: seq desc
-- column: seq | the entry of its export
-- column: occurred_at | when it was drawn
-- column: since | the period's start
-- column: until | its end, not included
-- column: size | how many processes were asked for
-- column: population | how many processes the period had, by the checkpoint
-- column: checkpoint | how many entries the signed checkpoint counts on which it rests
-- column: number | number | what an auditor gave to be drawn with; empty where nothing
-- column: is_repeated | its package was made again: an earlier one rests on the same checkpoint, number, period and size
-- column: processes | ids | the processes that were drawn, in that order
-- column: actor | staff | who drew it
-- column: reason | text | why

select
    seq,
    occurred_at,
    try_cast(content ->> '$.scope.from' as timestamp) as since,
    try_cast(content ->> '$.scope.to' as timestamp) as until,
    try_cast(content ->> '$.scope.sample' as bigint) as size,
    try_cast(content ->> '$.scope.population' as bigint) as population,
    try_cast(content ->> '$.scope.checkpoint' as bigint) as checkpoint,
    content ->> '$.scope.number' as number,
    row_number() over (
        partition by
            content ->> '$.scope.from',
            content ->> '$.scope.to',
            content ->> '$.scope.sample',
            content ->> '$.scope.checkpoint',
            content ->> '$.scope.number'
        order by seq
    ) > 1 as is_repeated,
    content ->> '$.drawn[*]' as processes,
    actor,
    reason
from fact_actions
where kind = 'export'
    and content ->> '$.scope.sample' is not null
    and occurred_at <= as_of()
