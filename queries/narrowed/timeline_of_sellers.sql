-- The entries about sellers, given their ids as `asked`, as timeline_of_processes.sql has those about processes.
with kept_timeline as materialized (
    from main.kept_timeline where seller_id in (from asked)
)
