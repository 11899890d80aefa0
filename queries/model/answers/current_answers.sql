-- One row per unfinished process and field path answered: the latest answer. Nearly all answers are those
-- of finished processes, which are left aside before the latest are looked for.
-- key: process_id, path

select *
from latest_answers
where process_id in (select process_id from unfinished_processes)
