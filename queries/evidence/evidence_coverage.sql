-- One row per process and field path, over the paths requested, answered and sent
-- (docs/rules.md#collection-evidence). A requested object stands for the fields of it that the contract
-- requires.
-- reads: process_state, latest_answers, sent_fields, required_fields
-- key: process_id, path
-- order: subjects.process_id
-- order: fields.path
-- by: process_id
-- column: process_id | the review process
-- column: path | dotted path of the field
-- column: requested | the latest event asks for it, or for an object around it
-- column: answered_at | latest answer to it; null while there is none
-- column: answer_source | who gave that answer; null while there is none
-- column: sent_at | start of the latest attempt that sent it; null until sent
-- column: covered | every sending of it was covered by the answer that was the latest then; null until sent

with sent as (
    select process_id, path, max(started_at) as sent_at, bool_and(is_covered) as covered
    from sent_fields
    group by process_id, path
),

seen as (
    select
        process_id,
        path,
        latest_answers.answered_at,
        latest_answers.source as answer_source,
        sent.sent_at,
        sent.covered
    from latest_answers
    full join sent using (process_id, path)
),

seen_of as (
    select process_id, list(path order by path) as seen_paths
    from seen
    group by process_id
),

subjects as (
    select process_state.process_id, list_distinct(requested_fields) as listed, seen_paths
    from process_state
    left join seen_of on seen_of.process_id = process_state.process_id
),

-- Of a million processes a few hundred differ in what was asked for, answered and sent: the rules are
-- worked out once for each of these outlines.
outlines as (
    select *, row_number() over () as outline
    from (select distinct listed, seen_paths from subjects)
),

listed as (
    select outline, unnest(listed) as path from outlines
),

seen_paths as (
    select outline, unnest(seen_paths) as path from outlines
),

asked_for as (
    select distinct listed.outline, coalesce(required_fields.field, listed.path) as path
    from listed
    left join required_fields on required_fields.path = listed.path
),

parents as (
    select distinct outline, unnest(above(path)) as path
    from (select * from seen_paths union select * from asked_for)
),

known as (
    select outline, path, true as is_seen from seen_paths
    union all
    -- A requested path that has fields under it is shown by these alone.
    select outline, path, false as is_seen
    from asked_for
    anti join parents using (outline, path)
    anti join seen_paths using (outline, path)
),

covering as (
    select outline, path, path as listed_path from known
    union all
    select outline, path, unnest(above(path)) as listed_path from known
),

fields as (
    select known.*, (outline, path) in (
        select (covering.outline, covering.path)
        from covering
        join listed
            on listed.outline = covering.outline and listed.path = covering.listed_path
    ) as requested
    from known
)

select
    subjects.process_id,
    fields.path,
    fields.requested,
    seen.answered_at,
    seen.answer_source,
    seen.sent_at,
    seen.covered
from subjects
join outlines
    on subjects.listed is not distinct from outlines.listed
    and subjects.seen_paths is not distinct from outlines.seen_paths
join fields using (outline)
left join seen
    on fields.is_seen and seen.process_id = subjects.process_id and seen.path = fields.path
