-- One row per alert of which somebody is still to be told, though it may be the seller's turn by the log:
-- somebody was tried, and not reached yet; nobody was reached at all; or the seller was asked by a link in
-- a message about the process, and by nobody else since. To reach the seller is not to reach a recipient.
-- It has no rows where the variable `unraised` is set: whatever was tried was raised, and is left out there.
-- key: alert_id
-- column: is_pending | somebody was tried, and neither reached nor given up, or nobody was reached; else the seller has a message's link alone

with steps as (
    from alert_steps
    where not coalesce(getvariable('unraised'), false) and step_at > alerts_from()
),

told as (
    select
        alert_id,
        arg_max(step, seq) not in ('sent', 'undelivered') as is_pending,
        bool_or(step = 'sent') as is_reached
    from steps
    where step in ('tried', 'failed', 'sent', 'undelivered')
    group by alert_id, recipient, via
),

contacts as (
    -- Older ones keep nobody waiting for the seller.
    select process_id, max(occurred_at) as contacted_at
    from (
        select process_id, occurred_at from fact_collections where step = 'invited' and not is_link
        union all
        select process_id, occurred_at from fact_actions where kind = 'reminded'
    )
    where occurred_at <= as_of() and occurred_at > as_of() - seller_patience()
    group by process_id
),

tries as (
    -- A link is made within a minute after a try is recorded, or never, and before the try's end is.
    select
        process_id,
        step,
        step_at as tried_at,
        least(
            step_at + interval 1 minute,
            lead(step_at) over (partition by alert_id, recipient, via order by seq)
        ) as ended_at
    from steps
    where step in ('tried', 'failed', 'sent')
),

asked_by_us as (
    select distinct tries.process_id
    from tries
    join contacts on contacts.process_id = tries.process_id
    where tries.step = 'tried' and contacted_at between tried_at and ended_at
),

found as (
    select alert_id, true as is_pending
    from told
    group by alert_id
    having bool_or(is_pending) or not bool_or(is_reached)
    union all
    select alert_id, false as is_pending
    from steps
    where step = 'raised' and process_id in (select process_id from asked_by_us)
)

select alert_id, bool_or(is_pending) as is_pending
from found
where alert_id not in (select alert_id from steps where step = 'acknowledged')
group by alert_id
