-- One row per process and leaf path, over the paths requested, answered and sent (rules.md
-- section 5). A requested object stands for the leaves of it that the contract requires.
-- reads: process_state, latest_answers, sent_leaves, required_leaves
-- key: process_id, path
-- by: process_id
-- column: process_id | the review process
-- column: path | dotted path of the leaf
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
    from sent_leaves
    group by process_id, path
),

asked_for as (
    select distinct listed.process_id, coalesce(required_leaves.leaf, listed.path) as path
    from listed
    left join required_leaves on required_leaves.path = listed.path
),

seen as (
    select process_id, path from latest_answers
    union
    select process_id, path from sent
),

known as (
    select process_id, path from seen
    union
    -- A requested path that has leaves under it is shown by these alone.
    select asked_for.process_id, asked_for.path
    from asked_for
    anti join (select * from seen union select * from asked_for) as below
        on below.process_id = asked_for.process_id
        and starts_with(below.path, asked_for.path || '.')
),

asked as (
    select distinct known.process_id, known.path
    from known
    join listed on listed.process_id = known.process_id and covers(listed.path, known.path)
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
order by known.process_id, known.path
