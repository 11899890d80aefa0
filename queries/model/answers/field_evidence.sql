-- One row per process and field path that was answered or sent: the latest answer, and whether what was
-- sent is covered by answers (docs/rules.md#collection-evidence). Materialized in
-- `kept_field_evidence`, as it is at the end of time.
-- key: process_id, path
-- column: answered_at | latest answer to it; null while there is none
-- column: answer_source | text | who gave that answer; null while there is none
-- column: sent_at | start of the latest attempt that sent it; null until sent
-- column: covered | every sending of it was covered by the answer that was the latest then; null until sent

with sent as (
    select process_id, path, max(started_at) as sent_at, bool_and(is_covered) as covered
    from sent_fields
    group by process_id, path
)

select
    process_id,
    path,
    latest_answers.answered_at,
    latest_answers.source as answer_source,
    sent.sent_at,
    sent.covered
from latest_answers
full join sent using (process_id, path)
