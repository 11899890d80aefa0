-- One row per entry that has more than one key by which it counts once, or that the log does not hold and
-- that has one already: an inbox that is put back from the ledger gets these keys with their entries.
-- key: seq
-- column: seq | the entry
-- column: keys | its keys
-- column: entries | entries of that seq: 1

select
    stored.seq,
    stored.keys,
    case when log.seq is null then 0 else 1 end as entries
from (select seq, count(*) as keys from ingest_keys group by seq) as stored
left join log on log.seq = stored.seq
where stored.keys <> 1 or log.seq is null
