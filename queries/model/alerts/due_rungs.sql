-- One row per unfinished review process that stands on a rung of the ladder: the one that it reached
-- last, if that was not long ago (docs/alerts.md#the-ladder). Those before it are not caught up on.
-- key: process_id
-- column: state | PENDING, OVERDUE or EXPIRED
-- column: rung | opened, overdue, before_... or expired
-- column: since | when it was reached: never before we knew of it, and never at a date of the platform's that is yet to come
-- column: seq | an entry of the process

with before as (
    select rung, hours, lag(hours, 1, -1) over (order by hours) as next_hours
    from (select unnest(alert_rules().before, recursive := true))
),

reached as (
    select
        open_ones.*,
        case
            when contains(alert_rules().opened, coalesce(review_type, contract.unlisted_review_type()))
                -- What is yet to come by the platform's clock must hide no rung before the deadline.
                then least(opened_at, first_received_at)
        end as opened_since,
        case
            -- One that is never PENDING is OVERDUE from its opening on: its rung `opened` says so.
            when alert_rules().overdue and contract.pending_days(review_type) > 0
                and state = 'OVERDUE'
                then least(overdue_found_at, overdue_known_at)
        end as overdue_since,
        before.rung as before_rung,
        deadline_at - to_hours(before.hours) as before_since
    from pressing_processes as open_ones
    left join before
        on open_ones.deadline_at <= as_of() + to_hours(before.hours)
        and open_ones.deadline_at > as_of() + to_hours(before.next_hours)
    where state in ('PENDING', 'OVERDUE', 'EXPIRED')
),

rungs as (
    select
        *,
        case
            when state = 'EXPIRED' then if(alert_rules().expired, 'expired', null)
            when before_since >= greatest(opened_since, overdue_since, before_since)
                then before_rung
            when overdue_since >= greatest(opened_since, overdue_since) then 'overdue'
            when opened_since is not null then 'opened'
        end as rung
    from reached
)

select
    process_id,
    seller_id,
    review_type,
    state,
    deadline_at,
    seconds_to_deadline,
    rung,
    in_calendar(greatest(
        first_received_at,
        case rung
            when 'opened' then opened_since
            when 'overdue' then overdue_known_at
            when 'expired' then expired_known_at
            -- Once it is reached, the clock's strike of OVERDUE is no later: what is left is the
            -- deadline's receipt. A rung of more than 30 days may be reached before it.
            else greatest(
                before_since, case when overdue_known_at <= as_of() then overdue_known_at end
            )
        end
    )) as since,
    overdue_found_seq as seq
from rungs
where rung is not null and may_alert(since)
