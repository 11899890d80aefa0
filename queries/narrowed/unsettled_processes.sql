-- Processes of which something occurs after as_of.
select process_id
from materialized.processes
where settled_at > as_of()
