-- One row per view of a page that somebody saved under a name, and that nobody dropped since.
-- key: page, view_name, owner
-- order: view_name, page, owner
-- column: page | text | the page, by the stem of its file
-- column: view_name | text | the name
-- column: owner | staff | whose it is; empty for one that is for all
-- column: query | filters | what stands in its URL behind the question mark: filters and order
-- column: saved_at | when it was saved last
-- column: actor | staff | who did
-- column: seq | the entry that says so

with steps as (
    select
        content ->> '$.page' as page,
        content ->> '$.name' as view_name,
        if(coalesce(content ->> '$.for_all', 'false') = 'true', '', coalesce(actor, '')) as owner,
        filters_now(content ->> '$.query') as query,
        step,
        occurred_at as saved_at,
        actor,
        seq
    from fact_actions
    where kind = 'saved_view' and occurred_at <= as_of()
)

select page, view_name, owner, query, saved_at, actor, seq
from steps
where page is not null and view_name is not null
qualify row_number() over (partition by page, view_name, owner order by saved_at desc, seq desc) = 1
    and step = 'saved'
