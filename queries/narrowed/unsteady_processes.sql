-- Processes whose events took their state back, or ahead of its clock.
select process_id
from kept_processes
where is_known and first_received_at is not null and overdue_since is null
