-- One row per process that an alert may be about: its state, and what is to be done about it.
-- key: process_id

select *
from states_and_actions
where process_id in (select process_id from alarming_processes)
