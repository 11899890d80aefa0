-- One row per process that an alert may be about: one on a rung, or in a condition. They are few, however
-- many are unfinished.
-- key: process_id
-- column: process_id | the platform's id of the review process

select distinct process_id from alarms where process_id is not null
