-- One row per unfinished process whose seller the schedule asks by itself: it runs for it, with a rung to
-- come, and no call is due that nobody has made (docs/rules.md#schedules).
-- key: process_id
-- column: process_id | the platform's id of the review process

with for_all as (
    select *, lead(seq) over (order by seq) as next_seq
    from schedule_steps
    where process_id is null and seller_id is null
),

-- One row, whose lists each review is compared with: a join would group all reviews by what it compares.
runs as (
    select
        list(struct_pack(seq, next_seq, has_backlog)) as starts,
        any_value(schedules) filter (where next_seq is null) as schedules
    from for_all
    where step = 'started'
),

reviews as (
    select
        process_id,
        seller_id,
        opened_at,
        deadline_at,
        contacted_at,
        [it for it in schedules if it.review_type = process_facts.review_type] as of_type,
        if(of_type = [], [it for it in schedules if it.review_type is null], of_type) as schedules
    from process_facts
    cross join runs
    where finished_at is null
        and [
            start for start in starts
            if case
                when first_received_seq < start.seq then start.has_backlog
                else was_received_live and first_received_seq < coalesce(start.next_seq, 1e18)
            end
        ] <> []
),

decisions as (
    select process_id, occurred_at, seq, step, is_wish
    from schedule_steps
    where process_id is not null
    union all
    select reviews.process_id, occurred_at, seq, step, is_wish
    from schedule_steps
    join reviews on reviews.seller_id = schedule_steps.seller_id
    where schedule_steps.process_id is null
),

kept_back as (
    select process_id
    from decisions
    group by process_id
    having arg_max(step in ('held', 'stopped'), struct_pack(occurred_at, seq))
        or coalesce(arg_max(is_wish, struct_pack(occurred_at, seq)), false)
),

offered_rungs as (
    select
        process_id,
        seller_id,
        opened_at,
        deadline_at,
        contacted_at,
        unnest(flatten([it.rungs for it in schedules])) as rung
    from reviews
    where process_id not in (from kept_back)
),

rungs as (
    select
        process_id,
        seller_id,
        opened_at,
        contacted_at,
        coalesce(rung.channel, 'email') as channel,
        coalesce(rung.if_silent, false) as if_silent,
        coalesce(
            opened_at + to_hours(rung.after),
            deadline_at - to_hours(rung.before),
            deadline_at + to_hours(rung.late)
        ) as due_at
    from offered_rungs
),

-- Whether the seller was called about a process, or has got a message about it.
said as (
    select
        process_id,
        max(occurred_at) filter (where channel = 'phone' and retracted_at is null) as called_at,
        bool_or(delivered_at is not null or opened_at is not null) as was_reached
    from notice_fates
    group by process_id
),

-- What the schedule cannot say to the seller, it asks a person to say.
asked_for as (
    select process_id, max(occurred_at) as asked_at
    from fact_actions
    where kind = 'notice_schedule'
        and step = 'claimed'
        and content ->> '$.channel' = 'phone'
        and reason is not null
        and occurred_at <= as_of()
    group by process_id
),

sent as (
    select
        seller_id,
        channel,
        struct_pack(occurred_at, message_id, process_id) as sent_as,
        bounced_at is not null or (
            failed_at is not null
            and (is_refused or coalesce(accepted_at, delivered_at, opened_at, uncertain_at) is not null)
        ) as is_lost,
        is_lost or accepted_at is not null or delivered_at is not null as is_known
    from notice_fates
    where not is_by_hand(channel)
),

-- By these channels the last message to the seller of which that is known came back, or will never be taken.
ended as (
    select seller_id, channel
    from sent
    where is_known
    group by seller_id, channel
    having arg_max(is_lost, sent_as)
),

heard as (
    select process_id
    from fact_collections
    where occurred_at <= as_of()
        and step in ('opened', 'answered', 'confirmed')
        and source = 'seller'
)

select rungs.process_id
from rungs
left join said on said.process_id = rungs.process_id
left join asked_for on asked_for.process_id = rungs.process_id
left join ended on ended.seller_id = rungs.seller_id and ended.channel = rungs.channel
-- One that would come before the review was opened does not.
where due_at >= rungs.opened_at
    and not (if_silent and (coalesce(was_reached, false) or rungs.process_id in (from heard)))
group by rungs.process_id
having bool_or(due_at > as_of() and ended.seller_id is null)
    and not bool_or(
        rungs.channel = 'phone' and due_at <= as_of() and coalesce(called_at < due_at, true)
    )
    and not bool_or(
        coalesce(asked_at > coalesce(greatest(called_at, contacted_at), timestamp '-infinity'), false)
    )
