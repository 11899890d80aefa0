-- The rows of `kept_processes`. Where all entries of a process turn out to belong to another one
-- (an attempt was recorded again with another process, say), its row stays and is not `is_known`: at some
-- instant the log knew it.
-- column: settled_at | the latest occurrence that says anything about the process
-- column: is_known | whether an entry of its own counts

select
    settled.process_id,
    settled.settled_at,
    known.process_id is not null as is_known,
    known.* exclude (process_id)
from settled_processes as settled
left join process_facts as known on known.process_id = settled.process_id
