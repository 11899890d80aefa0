-- One row per collection that says what an earlier entry says. Collections have no id: equal in instant
-- and content, they are one, however often they came (docs/rules.md#counting-once).
-- Materialized in `kept_repeated_collections`: an entry's row never changes.
-- key: seq
-- column: seq | the entry that does not count

select seq
from fact_collections
qualify row_number() over (
    partition by process_id, seller_id, occurred_at, body_sha256 order by seq
) > 1
