-- One row per process and field path, over the paths requested, answered and sent
-- (docs/rules.md#collection-evidence). A requested object stands for the fields of it that the contract
-- requires.
-- key: process_id, path
-- order: process_place, path_place
-- by: process_id
-- column: requested | the latest event asks for it, or for an object around it
-- column: answered_at | latest answer to it; null while there is none

with seen_of as (
    select process_id, list(path order by path) as seen_paths
    from field_evidence
    group by process_id
),

subjects as (
    select process_facts.process_id, requested_fields, seen_paths
    from process_facts
    left join seen_of on seen_of.process_id = process_facts.process_id
),

-- Of a million processes a few hundred differ in what was asked for, answered and sent: the rules are
-- worked out once for each of these outlines.
outlines as (
    select *, row_number() over () as outline
    from (select distinct requested_fields, seen_paths from subjects)
),

outline_requests as (
    select outline, unnest(list_distinct(requested_fields)) as path from outlines
),

outline_seen as (
    select outline, unnest(seen_paths) as path from outlines
),

asked_for as (
    select distinct
        outline_requests.outline,
        coalesce(required_fields.field, outline_requests.path) as path
    from outline_requests
    left join contract.required_fields() as required_fields
        on required_fields.path = outline_requests.path
),

parents as (
    select distinct outline, unnest(above(path)) as path
    from (select * from outline_seen union select * from asked_for)
),

known as (
    select outline, path, true as is_seen from outline_seen
    union all
    -- A requested path that has fields under it is shown by these alone.
    select outline, path, false as is_seen
    from asked_for
    anti join parents using (outline, path)
    anti join outline_seen using (outline, path)
),

covering as (
    select outline, path, path as requested_path from known
    union all
    select outline, path, unnest(above(path)) as requested_path from known
),

fields as (
    select known.*, dense_rank() over (order by path) as path_place, (outline, path) in (
        select (covering.outline, covering.path)
        from covering
        join outline_requests
            on outline_requests.outline = covering.outline
            and outline_requests.path = covering.requested_path
    ) as requested
    from known
),

-- Places stand for ids and paths in their order: by two numbers DuckDB sorts in half of the time.
outlined as (
    select
        subjects.process_id,
        outlines.outline,
        row_number() over (order by subjects.process_id) as process_place
    from subjects
    join outlines
        on subjects.requested_fields is not distinct from outlines.requested_fields
        and subjects.seen_paths is not distinct from outlines.seen_paths
),

found as (
    select
        outlined.*,
        fields.* exclude (outline),
        evidence.answered_at,
        evidence.answer_source,
        evidence.sent_at,
        evidence.covered
    from field_evidence as evidence
    join outlined on outlined.process_id = evidence.process_id
    -- Left, though each row has its field: so DuckDB joins the rows to their process first, not all fields to
    -- each process.
    left join fields on fields.outline = outlined.outline and fields.path = evidence.path
    union all by name
    select outlined.*, fields.* exclude (outline)
    from outlined
    join fields on fields.outline = outlined.outline
    where not fields.is_seen
)

select process_id, path, requested, answered_at, answer_source, sent_at, covered
from found
