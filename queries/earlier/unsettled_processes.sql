-- Processes of which something occurs after as_of, and those of which it did when their rows were made.
select process_id
from kept_processes
where settled_at > as_of()
union
from earlier_unsettled_processes
