-- One row per open process, neither finished nor EXPIRED: its chance to be finished in time, the lowest
-- first. It is how earlier processes of its type fared that were as far from their deadline and had come as far
-- (docs/rules.md#forecast). It says nothing of what would change it.
-- key: process_id
-- order: chance nulls last, deadline_at, process_id
-- column: reached | text | the furthest of contact, answered and sent that it has come to, else none
-- column: chance | of the comparable ones, the share that was finished in time; null where nothing can be said
-- column: chance_low | lower end of its interval of 80 %
-- column: chance_high | upper end of it
-- column: comparable | processes of its type, due in the year before, that stood where it stands when as much time was left to them
-- column: rests_on | word | same_step where they had come as far as it has, any_step where of these there are too few; null without a chance
-- column: ended | processes of its type that were finished or due in the year before
-- column: why_not | word | why there is no chance: few_ended below 50 of these, or none_comparable; null with one

with steps as (
    select
        process_id,
        min(came_at) filter (where step = 'contact') as contact_at,
        min(came_at) filter (where step = 'answered') as answered_at,
        min(came_at) filter (where step = 'sent') as sent_at
    from first_steps
    group by process_id
),

known as (
    select
        due_processes.*,
        coalesce(review_type, '') as kind,
        least(finished_at, deadline_at) as ended_at,
        contact_at,
        answered_at,
        sent_at
    from due_processes
    left join steps on steps.process_id = due_processes.process_id
),

-- How long each was open with the same step as its furthest; `any` is all of that time.
stays as (
    select
        kind,
        deadline_at,
        fate,
        unnest([
            struct_pack(reached := 'any', from_at := opened_at, to_at := ended_at),
            struct_pack(
                reached := 'none',
                from_at := opened_at,
                to_at := least(ended_at, contact_at, answered_at, sent_at)
            ),
            struct_pack(
                reached := 'contact', from_at := contact_at, to_at := least(ended_at, answered_at, sent_at)
            ),
            struct_pack(reached := 'answered', from_at := answered_at, to_at := least(ended_at, sent_at)),
            struct_pack(reached := 'sent', from_at := sent_at, to_at := ended_at)
        ], recursive := true)
    from known
    where is_due and deadline_at > as_of() - interval 365 day
),

-- By the microseconds before the deadline: at its end a stay begins to count, at its beginning no longer.
changes as (
    select
        kind,
        reached,
        unnest([
            epoch_us(deadline_at) - epoch_us(to_at), epoch_us(deadline_at) - epoch_us(from_at)
        ]) as distance,
        unnest([1, -1]) as change,
        fate = 'finished_in_time' as is_in_time
    from stays
    where from_at < to_at
),

counts as (
    select
        kind,
        reached,
        distance,
        sum(sum(change)) over by_distance as standing,
        sum(coalesce(sum(change) filter (where is_in_time), 0)) over by_distance as ending_well
    from changes
    group by kind, reached, distance
    window by_distance as (partition by kind, reached order by distance)
),

ended as (
    select kind, count(*) as ended
    from known
    where ended_at <= as_of() and ended_at > as_of() - interval 365 day
    group by kind
),

open_ones as (
    select
        *,
        epoch_us(deadline_at) - epoch_us(as_of()) as distance,
        case
            when sent_at is not null then 'sent'
            when answered_at is not null then 'answered'
            when contact_at is not null then 'contact'
            else 'none'
        end as reached,
        'any' as any_step
    from known
    where fate = 'open'
),

compared as (
    select
        open_ones.process_id,
        seller_id,
        review_type,
        deadline_at,
        open_ones.reached,
        coalesce(ended.ended, 0) as ended,
        coalesce(same.standing, 0) >= 50 as is_same_step,
        cast(if(is_same_step, same.standing, coalesce(every_one.standing, 0)) as bigint) as comparable,
        cast(if(is_same_step, same.ending_well, every_one.ending_well) as bigint) as in_time
    from open_ones
    left join ended on ended.kind = open_ones.kind
    asof left join counts as same
        on same.kind = open_ones.kind
        and same.reached = open_ones.reached
        and same.distance < open_ones.distance
    asof left join counts as every_one
        on every_one.kind = open_ones.kind
        and every_one.reached = open_ones.any_step
        and every_one.distance < open_ones.distance
),

measured as (
    select
        *,
        case when ended >= 50 and comparable > 0 then in_time / comparable end as chance,
        wilson_interval(chance, comparable, deviations_of_forecasts()) as likely
    from compared
)

select
    process_id,
    seller_id,
    review_type,
    deadline_at,
    reached,
    chance,
    if(chance is null, null, greatest(likely.middle - likely.half, 0)) as chance_low,
    if(chance is null, null, least(likely.middle + likely.half, 1)) as chance_high,
    comparable,
    case when chance is not null then if(is_same_step, 'same_step', 'any_step') end as rests_on,
    ended,
    case when ended < 50 then 'few_ended' when comparable = 0 then 'none_comparable' end as why_not
from measured
