-- One row per entry whose leaf, which the tree vouches for, says another thing than its columns.
-- key: seq
-- column: seq | the entry
-- column: leaf | what its leaf says, as text

with entries as (
    select
        seq,
        kind,
        occurred_at,
        recorded_at,
        origin,
        recorded_by,
        status,
        process_n,
        process_prev,
        seller_n,
        seller_prev,
        decode(leaf) as leaf
    from log
)

select seq, leaf
from entries
where cast(leaf ->> '$.seq' as bigint) is distinct from seq
    or leaf ->> '$.kind' is distinct from kind
    or leaf ->> '$.occurred_at' is distinct from strftime(occurred_at, '%Y-%m-%dT%H:%M:%S.%fZ')
    or leaf ->> '$.recorded_at' is distinct from strftime(recorded_at, '%Y-%m-%dT%H:%M:%S.%fZ')
    or leaf ->> '$.origin' is distinct from origin
    or leaf ->> '$.recorded_by' is distinct from recorded_by
    or cast(leaf ->> '$.status' as integer) is distinct from status
    or cast(leaf ->> '$.process_n' as bigint) is distinct from process_n
    or cast(leaf ->> '$.process_prev' as bigint) is distinct from process_prev
    or cast(leaf ->> '$.seller_n' as bigint) is distinct from seller_n
    or cast(leaf ->> '$.seller_prev' as bigint) is distinct from seller_prev
