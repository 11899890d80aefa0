-- One row per process that was accepted after a failed attempt: how long that took, the longest first
-- (docs/rules.md#over-time).
-- open to: analysts
-- key: process_id
-- order: seconds_to_acceptance desc, process_id
-- column: failed_at | when its first failed attempt started
-- column: accepted_at | its first answer 200
-- column: seconds_to_acceptance | from the one to the other

select process_id, failed_at, failed_outcome, accepted_at, seconds_to_acceptance
from submitted_processes
where seconds_to_acceptance is not null
