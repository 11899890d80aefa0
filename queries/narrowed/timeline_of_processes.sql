-- The entries about processes, given their ids as `asked`, which an index finds. They are copied: a limit would
-- bring a condition of its own, and an index is asked for one condition alone.
with kept_timeline as materialized (
    from main.kept_timeline where process_id in (from asked)
)
