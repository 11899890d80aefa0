-- One row per process that an alert may be about: one on a rung, or in a condition. They are few,
-- however many are unfinished.
-- reads: due_rungs, alarming_conditions
-- key: process_id
-- column: process_id | the review process

select process_id from due_rungs
union
select process_id from alarming_conditions where process_id is not null
