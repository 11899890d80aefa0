-- One row per kind of code and value that the contract does not list, from the first event that
-- carries it: new_code. The code itself is kept and counted like any other.
-- reads: events, review_events, denials, contract_codes
-- key: detail
-- column: rule | the broken rule (rules.md section 6)
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about, where the rule knows; `findings` adds the process's
-- column: seq | the entry that shows it
-- column: detail | what exactly; empty where the rule says it all
-- column: found_at | when it became true

with codes as (
    select event_id, 'event type' as kind, event_type as code from events
    union all
    select event_id, 'event without id' as kind, event_type as code from events where not has_id
    union all
    select event_id, 'payload' as kind, event_type as code from events where not is_shape_known
    union all
    select event_id, 'review type' as kind, object_type as code from review_events
    union all
    select event_id, 'review status' as kind, status as code from review_events
    union all
    select event_id, 'requested path' as kind, unnest(requested_fields) as code from review_events
    union all
    select event_id, 'reason' as kind, unnest(reasons).reason as code from denials
    union all
    select event_id, 'detail' as kind, unnest(reasons).detail as code from denials
),

unlisted as (
    select event_id, kind, code
    from codes
    anti join contract_codes using (kind, code)
    where code <> ''
),

first_events as (
    select
        unlisted.kind,
        unlisted.code,
        arg_min(
            struct_pack(events.seq, events.occurred_at, events.process_id, events.seller_id),
            struct_pack(events.occurred_at, events.event_id)
        ) as first
    from unlisted
    join events on events.event_id = unlisted.event_id
    group by unlisted.kind, unlisted.code
)

select
    'new_code' as rule,
    'notice' as severity,
    first.process_id as process_id,
    first.seller_id as seller_id,
    first.seq as seq,
    kind || ': ' || code as detail,
    first.occurred_at as found_at
from first_events
