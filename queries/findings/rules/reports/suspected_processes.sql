-- One row per process whose facts alone show that it breaks a rule of its reports, of its end or of how its
-- seller was notified; the findings say which entry shows it. Where a batch has no attempts, findings on its
-- processes are made only if one of them is here (`pipeline/ledger/refresh.py`).
-- key: process_id
-- column: is_contradicted | its events contradict the contract, the log or each other
-- column: is_finished_late | it was finished at its deadline or after it

select
    process_id,
    seller_id,
    deadline_at,
    finished_at,
    finished_by,
    deadline_mismatch,
    status_disagrees,
    has_late_contact,
    coalesce(
        deadline_mismatch or deadline_changed or status_disagrees or open_after_finish
            or identity_changed,
        false
    ) as is_contradicted,
    coalesce(finished_at >= deadline_at, false) as is_finished_late
from process_facts
where is_contradicted or is_finished_late or has_late_contact
