-- One row per process and payload that was sent against docs/rules.md#what-may-be-sent: acp_incomplete and
-- aci_extra_field, from the first attempt that sent it. Each is judged by the events received by its
-- start; `detail` lists the paths. A body that nobody can read as a JSON object holds nothing of what either asks for.
-- in: sent_findings
-- key: rule, seq
--
-- rule: acp_incomplete
-- place: 120
-- severity: breach
-- types: whole
-- name: ACP incomplete
-- means: The platform can reject it: an ACP needs every field of the seller's type.
-- remedy: Collect the missing fields, then submit them all.
--
-- rule: aci_extra_field
-- place: 130
-- severity: breach
-- types: partial
-- name: Field that the ACI did not request
-- means: The platform can reject it: an ACI takes only the requested fields.
-- remedy: Send only what was requested.

with sent as (
    select
        attempt_id,
        process_id,
        started_at,
        payload_type,
        payload_sha256,
        start_seq,
        has_payload,
        -- Who sends it again changes nothing in it.
        coalesce(first(via) over (
            partition by process_id, payload_sha256 order by started_at, attempt_id
        ) = 'gateway', false) as came_by_gateway
    from attempts
    where payload_sha256 is not null and outcome <> 'refused'
),

demanded as (
    -- What had been asked for when each attempt started; attempts before any event are not judged.
    select
        sent.attempt_id,
        contract.review_type(arg_min(coalesce(events.object_type, ''), place)) as review_type,
        coalesce(arg_max(events.requested_fields, place), []) as requested_fields
    from sent
    join (
        select *, struct_pack(created_at, occurred_at, event_id, content_sha256) as place
        from review_events
    ) as events
        on events.process_id = sent.process_id and events.occurred_at <= sent.started_at
    group by sent.attempt_id
),

requested as (
    select
        attempt_id,
        contract.is_partial(review_type) as is_partial,
        unnest(requested_fields) as path
    from demanded
    where review_type is not null
),

foreseen as (
    -- One that is not partial asks for all that the contract foresees for the type of seller.
    select demanded.attempt_id, fields.path
    from demanded
    join sent on sent.attempt_id = demanded.attempt_id
    join (
        select path, is_of_business from contract.foreseen_fields()
        union all
        select unnest(['process_id', 'type']) as path, false as is_of_business
    ) as fields on not fields.is_of_business or sent.payload_type = 'business'
    where demanded.review_type is not null and not contract.is_partial(demanded.review_type)
    union
    select attempt_id, path from requested where not is_partial
),

needed as (
    select distinct
        foreseen.attempt_id,
        coalesce(required_fields.field, foreseen.path) as path
    from foreseen
    join sent on sent.attempt_id = foreseen.attempt_id
    left join contract.required_fields() as required_fields
        on required_fields.path = foreseen.path
    where not contract.may_be_left_out(foreseen.path)
        -- Nothing can be sent below these two.
        and not starts_with(foreseen.path, 'process_id.')
        and not starts_with(foreseen.path, 'type.')
        -- The contract lets it out, and what came by the gateway goes out as it came.
        and not (foreseen.path = 'process_id' and sent.came_by_gateway)
),

fields as (
    select sent.attempt_id, fields.path, fields.is_null
    from sent
    join fact_sent_fields as fields on fields.seq = sent.start_seq
),

covering as (
    -- Every path that covers a field: thousands of fields are found by it, not each by each.
    select attempt_id, path, path as covered_by, not is_null as is_value
    from fields
    union all
    select attempt_id, path, unnest(above(path)), false
    from fields
),

missing as (
    -- A path that the contract does not show takes any value, an object too.
    select needed.attempt_id, needed.path
    from needed
    left join contract.codes() as shown
        on shown.kind = 'requested path' and shown.code = needed.path
    left join (
        select attempt_id, covered_by, bool_or(is_value) as is_value
        from covering
        group by attempt_id, covered_by
    ) as found
        on found.attempt_id = needed.attempt_id and found.covered_by = needed.path
    where case when shown.code is null then found.attempt_id is null
        else not coalesce(found.is_value, false) end
),

extra as (
    select fields.attempt_id, fields.path
    from fields
    join demanded on demanded.attempt_id = fields.attempt_id
    anti join (
        select covering.attempt_id, covering.path
        from covering
        semi join requested
            on requested.attempt_id = covering.attempt_id
            and requested.path = covering.covered_by
    ) as listed
        on listed.attempt_id = fields.attempt_id and listed.path = fields.path
    where demanded.review_type is not null and contract.is_partial(demanded.review_type)
        and fields.path not in ('process_id', 'type')
),

broken as (
    select
        missing.attempt_id,
        'acp_incomplete' as rule,
        string_agg(missing.path, ', ' order by missing.path) as detail
    from missing
    join sent on sent.attempt_id = missing.attempt_id and sent.has_payload
    group by missing.attempt_id
    union all
    select
        demanded.attempt_id,
        if(contract.is_partial(demanded.review_type), 'aci_extra_field', 'acp_incomplete') as rule,
        'no readable JSON object' as detail
    from demanded
    join sent on sent.attempt_id = demanded.attempt_id and not sent.has_payload
    where demanded.review_type is not null
    union all
    select
        attempt_id,
        'aci_extra_field' as rule,
        string_agg(path, ', ' order by path) as detail
    from extra
    group by attempt_id
)

select
    broken.rule,
    'breach' as severity,
    sent.process_id,
    null as seller_id,
    sent.start_seq as seq,
    broken.detail,
    sent.started_at as found_at
from broken
join sent on sent.attempt_id = broken.attempt_id
qualify row_number() over (
    partition by broken.rule, sent.process_id, sent.payload_sha256
    order by sent.started_at, sent.attempt_id
) = 1
