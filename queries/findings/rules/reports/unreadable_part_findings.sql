-- One row per event that counts and part of it that is not as the contract shows it, or is missing:
-- unreadable_part. What such an event says else counts, so that none of it is lost in silence.
-- reads: superseded_deliveries, facts.unreadable_parts
-- key: seq, detail
-- column: rule | the broken rule (docs/rules.md#findings)
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about, where the rule knows; views over it add the process's
-- column: seq | the entry that shows it
-- column: detail | the part, and what came: personal, masked where it may be about somebody
-- column: found_at | when it became true

select
    'unreadable_part' as rule,
    'risk' as severity,
    process_id,
    seller_id,
    seq,
    part || ': ' || personal(found, mask_found(part, found)) as detail,
    occurred_at as found_at
from facts.unreadable_parts
anti join superseded_deliveries using (seq)
where occurred_at <= as_of()
