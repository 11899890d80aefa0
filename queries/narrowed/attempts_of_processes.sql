-- The kept rows of attempts for processes, given their ids as `asked`, which an index finds: a limit of the question,
-- with an order, would bring a condition of its own beside that.
with kept_attempts as (
    from main.kept_attempts where process_id in (from asked) limit 1_000_000_000
)
