-- One row per unfinished process and field path answered: the latest answer. Nearly all answers are those
-- of finished processes, which are left aside before the latest are looked for.
-- reads: latest_answers, unfinished_processes
-- key: process_id, path
-- column: process_id | the review process
-- column: path | dotted path of the field
-- column: seq | the entry of the latest `answered` collection with that path
-- column: answered_at | when the seller answered
-- column: source | who gave the data

select *
from latest_answers
where process_id in (select process_id from unfinished_processes)
