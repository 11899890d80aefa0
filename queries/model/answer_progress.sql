-- One row per unfinished process that was asked for fields: how many it needs, and how many of them the
-- seller has answered since the request. An ACP needs all fields of its seller's type, whatever its
-- list says (docs/rules.md#what-may-be-sent). What may be left out counts where it alone was asked for.
-- reads: process_facts, seller_records, latest_answers, required_fields
-- key: process_id
-- column: process_id | the review process
-- column: required | fields that a submission of it needs
-- column: answered | those to which the latest answer is the seller's, and not older than the request

with unfinished as (
    select
        process_facts.process_id,
        review_type,
        opened_at,
        requested_fields,
        -- Only a business is asked for its owner's data.
        coalesce(list_bool_or([covers('owner', listed) for listed in requested_fields]), false)
            or coalesce(seller_records.seller_type = 'business', false) as is_business
    from process_facts
    left join seller_records on seller_records.seller_id = process_facts.seller_id
    where finished_at is null and opened_at is not null
),

listed as (
    select process_id, opened_at, unnest(requested_fields) as path
    from unfinished
    union
    select process_id, opened_at, unnest(['revenue', 'address']) as path
    from unfinished
    where review_type = 'ACP'
    union
    select process_id, opened_at, 'owner' as path
    from unfinished
    where review_type = 'ACP' and is_business
),

needed as (
    select distinct
        listed.process_id,
        listed.opened_at,
        coalesce(required_fields.field, listed.path) as path,
        listed.path in ('address.line2', 'owner.address.line2') as may_be_left_out
    from listed
    left join required_fields on required_fields.path = listed.path
    -- `process_id` and `type` are not answers, and nothing can be sent below them.
    where not covers('process_id', listed.path) and not covers('type', listed.path)
    qualify not may_be_left_out
        or bool_and(may_be_left_out) over (partition by listed.process_id)
),

answers as (
    select process_id, path, answered_at
    from latest_answers
    where source = 'seller'
        and process_id in (select process_id from unfinished)
),

-- Each answer under its own path, and under those that cover it.
given as (
    select process_id, path, answered_at from answers
    union all
    select process_id, unnest(above(path)) as path, answered_at from answers
)

select
    asked.process_id,
    count(distinct needed.path) as required,
    count(distinct needed.path) filter (where given.path is not null) as answered
from (select distinct process_id from listed) as asked
left join needed on needed.process_id = asked.process_id
left join given
    on given.process_id = needed.process_id
    and given.answered_at >= needed.opened_at
    and given.path = needed.path
group by asked.process_id
