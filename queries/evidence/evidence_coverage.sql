-- One row per process and field path, over the paths requested, answered and sent
-- (docs/rules.md#collection-evidence). A requested object stands for the fields of it that the contract
-- requires.
-- reads: process_state, latest_answers, sent_fields, required_fields
-- key: process_id, path
-- order: known.process_id
-- order: known.path
-- by: process_id
-- column: process_id | the review process
-- column: path | dotted path of the field
-- column: requested | the latest event asks for it, or for an object around it
-- column: answered_at | latest answer to it; null while there is none
-- column: answer_source | who gave that answer; null while there is none
-- column: sent_at | start of the latest attempt that sent it; null until sent
-- column: covered | every sending of it was covered by the answer that was the latest then; null until sent

with listed as (
    select process_id, unnest(list_distinct(requested_fields)) as path
    from process_state
),

sent as (
    select process_id, path, max(started_at) as sent_at, bool_and(is_covered) as covered
    from sent_fields
    group by process_id, path
),

asked_for as (
    select distinct listed.process_id, coalesce(required_fields.field, listed.path) as path
    from listed
    left join required_fields on required_fields.path = listed.path
),

seen as (
    select process_id, path from latest_answers
    union
    select process_id, path from sent
),

parents as (
    select distinct process_id, unnest(above(path)) as path
    from (select * from seen union select * from asked_for)
),

known as (
    select process_id, path from seen
    union
    -- A requested path that has fields under it is shown by these alone.
    select process_id, path
    from asked_for
    anti join parents using (process_id, path)
),

covering as (
    select process_id, path, path as listed_path from known
    union all
    select process_id, path, unnest(above(path)) as listed_path from known
),

asked as (
    select distinct covering.process_id, covering.path
    from covering
    join listed
        on listed.process_id = covering.process_id and listed.path = covering.listed_path
)

select
    known.process_id,
    known.path,
    asked.path is not null as requested,
    latest_answers.answered_at,
    latest_answers.source as answer_source,
    sent.sent_at,
    sent.covered
from known
left join asked using (process_id, path)
left join latest_answers using (process_id, path)
left join sent using (process_id, path)
