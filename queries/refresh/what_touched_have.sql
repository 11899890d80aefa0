-- What processes of `touched` have. Most new ones have no attempt, and what follows from attempts is half of
-- what would be planned; without an answer either, nothing is known of their fields.
select
    exists (from fact_attempt_starts where process_id in (from touched))
    or exists (from fact_attempt_finishes where process_id in (from touched)) as has_attempts,
    exists (
        from fact_collections where step = 'answered' and process_id in (from touched)
    ) as has_answers
