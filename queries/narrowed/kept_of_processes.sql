-- The kept rows of processes, given their ids as `asked`. DuckDB finds rows by an index for one condition alone:
-- here, where a view's own would come beside it. A limit that is never reached keeps views' conditions from the
-- processes, which all views read.
with kept_processes as (
    from main.kept_processes where process_id in (from asked) limit 1_000_000_000
),

kept_field_evidence as (
    from main.kept_field_evidence where process_id in (from asked)
),

kept_findings as (
    from main.kept_findings where process_id in (from asked)
)
