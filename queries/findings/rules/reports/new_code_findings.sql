-- One row per kind of code and value that the contract does not list, from the first event that
-- carries it: new_code. The code itself is kept and counted like any other.
-- in: other_findings
-- key: detail
--
-- rule: new_code
-- place: 310
-- severity: notice
-- name: Code not listed in the contract
-- means: The platform may have changed its contract.
-- remedy: Read the entry, and ask the platform what the code means.

select
    'new_code' as rule,
    'notice' as severity,
    first.process_id as process_id,
    first.seller_id as seller_id,
    first.seq as seq,
    kind || ': ' || code as detail,
    first.occurred_at as found_at
from (
    select
        kind,
        code,
        -- Versions of one event may come at one instant: what they are about decides, not which was recorded first.
        min(struct_pack(occurred_at, event_id, process_id, seller_id, seq)) as first
    from unlisted_codes
    anti join superseded_deliveries using (seq)
    where occurred_at <= as_of()
    group by kind, code
)
