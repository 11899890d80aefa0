-- One row per entry that does not follow the one before of its process or its seller: each counts its
-- stream on by one and names the entry before (the leaf vouches for both).
-- reads: log
-- key: seq, stream
-- column: seq | the entry
-- column: stream | process or seller
-- column: n | its place in the stream, as recorded
-- column: expected_n | its place as the log has it
-- column: prev | the entry before it in the stream, as recorded; null for the first
-- column: expected_prev | the one that the log has; null for the first

with streams as (
    select
        seq,
        'process' as stream,
        process_n as n,
        process_prev as prev,
        row_number() over in_process as expected_n,
        lag(seq) over in_process as expected_prev
    from log
    where process_id is not null
    window in_process as (partition by process_id order by seq)
    union all
    select
        seq,
        'seller' as stream,
        seller_n as n,
        seller_prev as prev,
        row_number() over in_seller as expected_n,
        lag(seq) over in_seller as expected_prev
    from log
    where seller_id is not null
    window in_seller as (partition by seller_id order by seq)
)

select seq, stream, n, expected_n, prev, expected_prev
from streams
where n is distinct from expected_n or prev is distinct from expected_prev
