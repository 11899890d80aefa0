-- One row per broken rule and subject (docs/rules.md#findings), the gravest first, then the newest.
-- They hold for overridden and ingested attempts too.
-- open to: analysts
-- key: rule, seq, process_id, detail
-- order: case severity when 'breach' then 1 when 'risk' then 2 else 3 end, found_at desc, rule, seq, process_id, detail
-- column: rule | word | the broken rule
-- column: severity | word | breach, risk or notice
-- column: process_id | the review process it is about; null where it is about none
-- column: seller_id | the seller it is about; null where it is about none
-- column: seq | the entry that shows it
-- column: detail | text | what exactly: a path, an id, a code, a reason; empty where the rule says it all
-- column: found_at | when it became true

from found
