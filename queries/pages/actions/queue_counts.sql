-- One row per queue in which an unfinished review process stands: how many there are.
-- open to: analysts
-- key: queue
-- column: processes | unfinished processes in this queue

select queue, count(*) as processes
from unfinished_work
group by queue
