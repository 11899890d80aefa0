-- One row per act that somebody asked for and that needs a second person, by as_of
-- (docs/operations.md#four-eyes).
-- key: request_id
-- order: requested_at desc, request_id
-- column: request_id | the name of the request
-- column: act | text | override, unmask, export or forget
-- column: state | word | requested, approved, refused, used, or expired: it ended before the act began
-- column: detail | text | what exactly was asked, as JSON, without what says something about a person
-- column: process_id | the process that it is about; null for one about many
-- column: seller_id | the seller that it is about; null for one about many
-- column: requested_at | when it was asked for
-- column: requested_by | staff | who did
-- column: reason | text | why
-- column: until | when it ends: what has not begun by then has to be asked for again
-- column: decided_at | when somebody approved or refused it; null before
-- column: decided_by | staff | who did
-- column: decided_because | text | why
-- column: used_at | when the act began; null before
-- column: used_seq | the entry of the act
-- column: seq | the entry of the request

with steps as (
    select content ->> '$.request' as request_id, *
    from fact_actions
    where kind = 'clearance' and occurred_at <= as_of()
),

decisions as (
    select
        request_id,
        min(occurred_at) as decided_at,
        arg_min(step, seq) as step,
        arg_min(actor, seq) as actor,
        arg_min(reason, seq) as reason
    from steps
    where step in ('approved', 'refused')
    group by request_id
),

-- An override is recorded before its attempt begins, and counts from then on.
uses as (
    select
        content ->> '$.clearance' as request_id,
        min(occurred_at) as used_at,
        min(seq) as used_seq
    from fact_actions as acts
    where occurred_at <= as_of()
        and (
            begins_act(kind)
            or (
                kind = 'override'
                and attempt_id in (
                    select attempt_id from fact_attempt_starts where occurred_at <= as_of()
                )
            )
        )
        and content ->> '$.clearance' is not null
    group by content ->> '$.clearance'
)

select
    steps.request_id,
    content ->> '$.act' as act,
    case
        when used_at is not null then 'used'
        when decisions.step = 'refused' then 'refused'
        when try_cast(content ->> '$.until' as timestamp) <= as_of() then 'expired'
        when decisions.step = 'approved' then 'approved'
        else 'requested'
    end as state,
    content ->> '$.shown' as detail,
    process_id,
    seller_id,
    occurred_at as requested_at,
    steps.actor as requested_by,
    steps.reason,
    try_cast(content ->> '$.until' as timestamp) as until,
    decided_at,
    decisions.actor as decided_by,
    decisions.reason as decided_because,
    used_at,
    used_seq,
    seq
from steps
left join decisions on decisions.request_id = steps.request_id
left join uses on uses.request_id = steps.request_id
where steps.step = 'requested' and steps.request_id is not null
