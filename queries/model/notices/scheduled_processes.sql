-- One row per unfinished process whose seller the schedule asks by itself: it runs for it, with a rung to
-- come, and no call is due that nobody has made (docs/rules.md#queues).
-- key: process_id
-- column: process_id | the platform's id of the review process

with for_all as (
    select *, lead(seq) over (order by seq) as next_seq
    from schedule_steps
    where process_id is null and seller_id is null
),

schedules as (
    select unnest(schedules, recursive := true)
    from for_all
    where step = 'started' and next_seq is null
),

reviews as (
    select process_id, seller_id, review_type, opened_at, deadline_at
    from process_facts
    where finished_at is null
        and exists (
            from for_all
            where step = 'started'
                and case
                    when first_received_seq < seq then has_backlog
                    else was_received_live and first_received_seq < coalesce(next_seq, 1e18)
                end
        )
),

decisions as (
    select process_id, occurred_at, seq, step from schedule_steps where process_id is not null
    union all
    select reviews.process_id, occurred_at, seq, step
    from schedule_steps
    join reviews on reviews.seller_id = schedule_steps.seller_id
    where schedule_steps.process_id is null
),

kept_back as (
    select process_id
    from decisions
    group by process_id
    having arg_max(step in ('held', 'stopped'), struct_pack(occurred_at, seq))
),

asked as (
    select
        process_id,
        opened_at,
        deadline_at,
        unnest(schedules.rungs) as rung
    from reviews
    join schedules
        on schedules.review_type is not distinct from case
            when reviews.review_type in (select review_type from schedules) then reviews.review_type
        end
    where process_id not in (from kept_back)
),

rungs as (
    select
        process_id,
        opened_at,
        rung.channel,
        coalesce(
            opened_at + to_hours(rung.after),
            deadline_at - to_hours(rung.before),
            deadline_at + to_hours(rung.late)
        ) as due_at
    from asked
),

calls as (
    select process_id, max(occurred_at) as called_at
    from notice_fates
    where channel = 'phone' and retracted_at is null
    group by process_id
)

select rungs.process_id
from rungs
left join calls on calls.process_id = rungs.process_id
-- One that would come before the review was opened does not.
where due_at >= opened_at
group by rungs.process_id
having bool_or(due_at > as_of())
    and not bool_or(
        channel is not distinct from 'phone' and due_at <= as_of() and coalesce(called_at < due_at, true)
    )
