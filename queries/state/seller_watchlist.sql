-- One row per seller with a review that is PENDING, OVERDUE or EXPIRED, worst first: how these stand, and when
-- the seller was last contacted (docs/rules.md#seller-notices).
-- key: seller_id
-- order: worst_state, next_deadline_at, seller_id
-- by: seller_id
-- column: seller_id | the seller under review
-- column: worst_state | word | EXPIRED, OVERDUE or PENDING
-- column: next_deadline_at | the earliest deadline of these reviews
-- column: seconds_to_deadline | whole seconds left until then, negative once late
-- column: next_savable_deadline_at | the earliest of those that are PENDING or OVERDUE; null without one
-- column: pending | reviews that are PENDING
-- column: overdue | reviews that are OVERDUE
-- column: expired | reviews that are EXPIRED
-- column: last_contact_at | when the seller was last contacted about any of them, by what still stands; null where nobody did
-- column: last_contact_channel | text | by which channel
-- column: last_contact_by | staff | who called, posted or sent that by hand; null for the schedule, the seller, another system
-- column: assignees | staff | who sees to these reviews, sorted
-- column: unassigned | reviews to which nobody sees
-- column: review_types | text | the types of these reviews, sorted
-- column: current_balance | what is at stake: the seller's balance by the latest event that carries one
-- column: balance_at | when the platform created that event
-- column: expiry_disabled_at | when the platform last disabled the seller while the deadline of one of their reviews had passed and it was not finished; null where it never did

with open_states as (
    select unfinished_states.*, assignee
    from unfinished_states
    left join assignments on assignments.process_id = unfinished_states.process_id
    where state <> 'UNKNOWN' and seller_id is not null
),

balances as (
    select
        seller_id,
        arg_max(current_balance, struct_pack(created_at, occurred_at, event_id)) as current_balance,
        arg_max(created_at, struct_pack(created_at, occurred_at, event_id))
            filter (where current_balance is not null) as balance_at
    from seller_events
    group by seller_id
),

disabled as (
    select events.seller_id, max(events.created_at) as expiry_disabled_at
    from seller_events as events
    join process_facts as reviews
        on reviews.seller_id = events.seller_id
        and events.created_at >= reviews.deadline_at
        and (reviews.finished_at is null or events.created_at < reviews.finished_at)
    where events.event_type = 'seller.disabled'
    group by events.seller_id
),

listed as (
    select
        seller_id,
        min(state) as worst_state,
        min(deadline_at) as next_deadline_at,
        min(seconds_to_deadline) as seconds_to_deadline,
        min(deadline_at) filter (where state <> 'EXPIRED') as next_savable_deadline_at,
        count(*) filter (where state = 'PENDING') as pending,
        count(*) filter (where state = 'OVERDUE') as overdue,
        count(*) filter (where state = 'EXPIRED') as expired,
        max(contacted_at) as last_contact_at,
        struct_extract(arg_min(last_contact, place), 'channel') as last_contact_channel,
        struct_extract(arg_min(last_contact, place), 'contacted_by') as last_contact_by,
        coalesce(list_sort(list(distinct assignee) filter (where assignee is not null)), []) as assignees,
        count(*) filter (where assignee is null) as unassigned,
        coalesce(list_sort(list(distinct review_type) filter (where review_type is not null)), []) as review_types
    from (
        select
            *,
            struct_pack(channel := contact_channel, contacted_by) as last_contact,
            if(
                contacted_at is not null,
                contact_order(contacted_at, contact_channel, contact_message_id),
                null
            ) as place
        from open_states
    )
    group by seller_id
)

select
    listed.*,
    balances.current_balance,
    balances.balance_at,
    disabled.expiry_disabled_at
from listed
left join balances using (seller_id)
left join disabled using (seller_id)
