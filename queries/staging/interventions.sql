-- One row per override or replacement that counts, occurred by as_of: what people allowed, with
-- reason and name. Equal in instant and content, they are one.
-- key: seq
-- column: seq | the entry that counts, the first recorded
-- column: kind | override or replacement
-- column: occurred_at | when it was allowed
-- column: process_id | the platform's id of the review process
-- column: seller_id | the seller it was for, where the entries name one
-- column: attempt_id | the attempt, where the entry names one
-- column: actor | who allowed it
-- column: reason | why

select
    seq,
    kind,
    occurred_at,
    process_id,
    seller_id,
    attempt_id,
    actor,
    reason
from fact_actions
where kind in ('override', 'replacement')
    and occurred_at <= as_of()
qualify row_number() over (
    partition by kind, occurred_at, process_id, seller_id, attempt_id, body_sha256 order by seq
) = 1
