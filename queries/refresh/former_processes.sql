-- Those of `touched` that an entry up to `covered` is about, and so those that have a row.
select process_id from kept_processes where process_id in (from touched)
