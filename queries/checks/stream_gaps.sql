-- One row per entry that does not follow the one before of its process or its seller: each counts its
-- stream on by one and names the entry before (the leaf vouches for both).
-- key: seq, stream
-- column: seq | the entry
-- column: stream | process or seller
-- column: n | its place in the stream, as recorded
-- column: expected_n | its place as the log has it; null where it names no such stream
-- column: prev | the entry before it in the stream, as recorded; null for the first
-- column: expected_prev | the one that the log has; null for the first

with streams as (
    select
        seq,
        'process' as stream,
        process_id is not null as is_in_stream,
        process_n as n,
        process_prev as prev,
        row_number() over in_process as place,
        lag(seq) over in_process as before
    from log
    window in_process as (partition by process_id order by seq)
    union all
    select
        seq,
        'seller' as stream,
        seller_id is not null as is_in_stream,
        seller_n as n,
        seller_prev as prev,
        row_number() over in_seller as place,
        lag(seq) over in_seller as before
    from log
    window in_seller as (partition by seller_id order by seq)
),

expected as (
    select
        seq,
        stream,
        n,
        case when is_in_stream then place end as expected_n,
        prev,
        case when is_in_stream then before end as expected_prev
    from streams
)

select seq, stream, n, expected_n, prev, expected_prev
from expected
where n is distinct from expected_n or prev is distinct from expected_prev
