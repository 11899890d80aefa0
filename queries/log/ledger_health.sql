-- One row: what the ledger holds at as_of and how the log stands.
-- open to: analysts
-- key: last_seq
-- column: last_seq | the newest entry of the log, whenever it occurred
-- column: entries | entries that had occurred at as_of
-- column: missing | seqs below last_seq that the log does not hold; always 0
-- column: tree_size | leaves of the Merkle tree
-- column: root | digest | its root, hex
-- column: last_recorded_at | when the newest entry was recorded
-- column: deliveries | webhooks recorded, redeliveries included
-- column: redeliveries | those whose event had been recorded before
-- column: quarantined | deliveries in quarantine that are not replayed yet
-- column: rejected | requests turned away unread or misaddressed (entries of kind rejection), as far as they are entries
-- column: slowest_record_seconds | longest time from a live delivery's receipt to its record

with size as (
    select
        coalesce(max(seq), 0) as last_seq,
        count(*) filter (where occurred_at <= as_of()) as entries,
        coalesce(max(seq), 0) - count(*) as missing,
        max(recorded_at) as last_recorded_at
    from log
),

head as (
    select max(size) as size, arg_max(root, size) as root
    from tree_heads
),

delivered as (
    select
        count(*) as deliveries,
        count(*) filter (where is_redelivery) as redeliveries,
        max(record_seconds) filter (where origin = 'live') as slowest_record_seconds
    from deliveries
    where kind = 'webhook'
),

held as (
    select count(*) as quarantined from quarantine where replayed_as is null
),

turned_away as (
    select cast(coalesce(sum(deliveries), 0) as bigint) as rejected
    from fact_rejections
    where occurred_at <= as_of()
)

select
    size.last_seq,
    size.entries,
    size.missing,
    coalesce(head.size, 0) as tree_size,
    lower(hex(head.root)) as root,
    size.last_recorded_at,
    delivered.deliveries,
    delivered.redeliveries,
    held.quarantined,
    turned_away.rejected,
    delivered.slowest_record_seconds
from size, head, delivered, held, turned_away
