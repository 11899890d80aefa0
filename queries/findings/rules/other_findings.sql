-- One row per rule that may be broken by what is about no process, or whose seller the process has to say.
-- in: findings
-- key: rule, seq, process_id, detail

select
    found.rule,
    found.severity,
    found.process_id,
    coalesce(process_facts.seller_id, found.seller_id) as seller_id,
    found.seq,
    found.detail,
    found.found_at
from found
left join process_facts on process_facts.process_id = found.process_id
