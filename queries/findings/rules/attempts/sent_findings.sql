-- One row per rule that what was sent for a process breaks: each follows from an attempt, and a batch without
-- attempts asks for none of them (`pipeline/ledger/refresh.py`).
-- in: process_findings
-- key: rule, seq, process_id, detail

from found
