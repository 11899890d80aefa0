-- One row per 30, 60 and 90 days: what the log shows of sellers in that time after the first deadline of each that came
-- while the review was unfinished (docs/rules.md#over-time). Only those whose time is over count.
-- open to: analysts
-- key: days
-- column: days | from that deadline on
-- column: sellers | sellers whose days are over
-- column: disabled | those of them that the platform disabled in these days, while that review was unfinished
-- column: disabled_share | disabled / sellers
-- column: finished_late | those of them whose review was finished in these days
-- column: finished_late_share | finished_late / sellers

with firsts as (
    select
        seller_id,
        unnest(arg_min(struct_pack(deadline_at, finished_at), struct_pack(deadline_at, process_id)))
    from due_processes
    where is_due and fate <> 'finished_in_time' and seller_id is not null
    group by seller_id
),

disabled as (
    select firsts.seller_id, min(created_at) as disabled_at
    from firsts
    join seller_events
        on seller_events.seller_id = firsts.seller_id
        and created_at >= deadline_at
        and (finished_at is null or created_at < finished_at)
    where event_type = 'seller.disabled'
    group by firsts.seller_id
),

followed as (
    select
        days,
        disabled_at <= deadline_at + to_days(days) as is_disabled,
        finished_at <= deadline_at + to_days(days) as is_finished
    from (select unnest([30, 60, 90]) as days) as spans
    join firsts on deadline_at + to_days(days) <= as_of()
    left join disabled on disabled.seller_id = firsts.seller_id
)

select
    days,
    count(*) as sellers,
    count(*) filter (where is_disabled) as disabled,
    count(*) filter (where is_disabled) / count(*) as disabled_share,
    count(*) filter (where is_finished) as finished_late,
    count(*) filter (where is_finished) / count(*) as finished_late_share
from followed
group by days
