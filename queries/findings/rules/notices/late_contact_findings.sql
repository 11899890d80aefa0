-- One row per contact by call, letter or result that stands and was recorded more than 24 hours after it
-- happened: contact_recorded_late. It counts all the same (docs/rules.md#seller-notices).
-- in: process_findings
-- key: seq, process_id
--
-- rule: contact_recorded_late
-- place: 95
-- severity: risk
-- name: Contact recorded late
-- means: An auditor can doubt a contact that was recorded a day after it happened.
-- remedy: Record calls and letters as they happen, and have receipts sent at once.

select
    'contact_recorded_late' as rule,
    'risk' as severity,
    contacts.process_id,
    null as seller_id,
    contacts.seq,
    channel as detail,
    recorded_at as found_at
from contacts
join suspected_processes on suspected_processes.process_id = contacts.process_id
where is_recorded_late and withdrawn_at is null and has_late_contact
