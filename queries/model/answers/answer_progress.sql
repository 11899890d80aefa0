-- One row per unfinished process that was asked for fields: how many it needs, and how many of them the
-- seller has answered since the request. One that is not partial needs all fields of
-- its seller's type, whatever its list says (docs/rules.md#what-may-be-sent). What may be left out counts where it alone was asked for.
-- key: process_id
-- column: required | fields that a submission of it needs
-- column: answered | those to which the latest answer is the seller's, and not older than the request
-- column: lacks_type | neither the log nor the seller says whether the seller is an individual or a business

with unfinished as (
    select
        process_id,
        review_type,
        opened_at,
        requested_fields,
        -- Only a business is asked for its owner's data.
        coalesce(list_bool_or([covers('owner', listed) for listed in requested_fields]), false)
            or coalesce(seller_records.seller_type = 'business', false) as is_business,
        is_business or coalesce(seller_records.seller_type = 'individual', false) as is_type_known
    from unfinished_processes
    left join seller_records on seller_records.seller_id = unfinished_processes.seller_id
),

-- Of a million processes a few hundred are asked for something else than all the others.
demands as (
    select *, row_number() over () as demand
    from (select distinct requested_fields, review_type, is_business from unfinished)
),

demanding as (
    select unfinished.process_id, opened_at, is_type_known, demand
    from unfinished
    join demands
        on demands.requested_fields = unfinished.requested_fields
        and demands.review_type is not distinct from unfinished.review_type
        and demands.is_business = unfinished.is_business
),

listed as (
    select demand, unnest(requested_fields) as path from demands
    union
    select demands.demand, foreseen.path
    from demands
    join contract.foreseen_fields() as foreseen
        on not foreseen.is_of_business or demands.is_business
    where not contract.is_partial(demands.review_type)
),

needed as (
    select distinct
        listed.demand,
        coalesce(required_fields.field, listed.path) as path,
        contract.may_be_left_out(listed.path) as may_be_left_out
    from listed
    left join contract.required_fields() as required_fields on required_fields.path = listed.path
    -- `process_id` and `type` are not answers, and nothing can be sent below them.
    where not covers('process_id', listed.path) and not covers('type', listed.path)
    qualify not may_be_left_out
        or bool_and(may_be_left_out) over (partition by listed.demand)
),

-- Each demand once: of 12,000 fields, each beside each other took five seconds.
required as (
    select listed.demand, count(distinct needed.path) as required
    from (select distinct demand from listed) as listed
    left join needed on needed.demand = listed.demand
    group by listed.demand
),

answers as (
    select process_id, path, answered_at
    from current_answers
    where source = 'seller'
),

-- Each answer under its own path, and under those that cover it.
given as (
    select process_id, path, answered_at from answers
    union all
    select process_id, unnest(above(path)) as path, answered_at from answers
),

answered as (
    select demanding.process_id, count(distinct needed.path) as answered
    from given
    join demanding on demanding.process_id = given.process_id and given.answered_at >= demanding.opened_at
    join needed on needed.demand = demanding.demand and needed.path = given.path
    group by demanding.process_id
)

select
    demanding.process_id,
    required.required,
    coalesce(answered.answered, 0) as answered,
    not is_type_known and said_types.process_id is null as lacks_type
from demanding
join required on required.demand = demanding.demand
left join answered on answered.process_id = demanding.process_id
left join answers as said_types on said_types.process_id = demanding.process_id and said_types.path = 'type'
