-- Whether any process of `touched` has an attempt. Most new ones have none, and what follows from
-- attempts is half of what would be planned.
select
    exists (from facts.attempt_starts where process_id in (from touched))
    or exists (from facts.attempt_finishes where process_id in (from touched)) as has_attempts
