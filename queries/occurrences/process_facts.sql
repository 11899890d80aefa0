-- One row per review process seen in a review event, an attempt or a collection: all that is known of
-- it by as_of and that no clock moves (rules.md section 2). `process_state` sets the clock against it.
--
-- A ledger keeps these rows for the end of time, in `kept.processes`: from the last occurrence of a
-- process on, only the clock changes what `process_state` says of it.
-- reads: clock, review_events, attempts, facts.collections
-- key: process_id
-- column: process_id | the platform's id of the process
-- column: seller_id | `customer_id` of the earliest event; else of the first attempt or collection
-- column: review_type | ACP or ACI, from the earliest event alone; null for an unknown type
-- column: opened_at | when the platform created the earliest event; null while none is known
-- column: overdue_at | ACP: 30 days before the deadline; otherwise opened_at
-- column: deadline_at | the deadline that the latest event carries
-- column: overdue_from | from when it is at least OVERDUE, by the clock or as reported for this deadline; null without an event
-- column: expired_from | from when it is EXPIRED, likewise
-- column: requested_fields | the field paths that the latest event asks for
-- column: reported_status | the status that the latest event reports
-- column: reported_at | when the platform created the latest event
-- column: finished_at | the first end of an attempt answered 200 or creation of a report of FINISHED
-- column: finished_by | submission or platform, whichever was first; on a tie, submission
-- column: attempts | submission attempts that were sent (refusals left out)
-- column: last_outcome | what became of the last of them
-- column: last_attempt_at | when the last of them started
-- column: in_flight_until | when the last of them will have got no answer in time; null once it ended
-- column: collected_at | the first step of a collection journey of any kind
-- column: journey_opened_at | the first that the seller took: opened, answered or confirmed
-- column: answered_at | the seller's latest answer; what came from elsewhere is none
-- column: overdue_found_at | when it became OVERDUE: by the clock, or by an earlier report for this deadline
-- column: overdue_found_seq | the entry that shows it: that report, else the first event with this deadline
-- column: expired_found_at | when it became or becomes EXPIRED, likewise
-- column: expired_found_seq | the entry that shows it, likewise
-- column: first_received_at | when the first of its events was received; null while none is known
-- column: overdue_since | from when it is at least OVERDUE for each day's end as well; null where its events took the state back or ahead of its clock, so that days follow from `unsteady_stays`
-- column: expired_since | from when it is EXPIRED, likewise
-- column: finished_known_at | when it was first known to be finished: the answer, or the receipt of a report
-- column: deadline_mismatch | the deadline is more than a day off 60 (ACP) or 30 (ACI) days
-- column: deadline_changed | events of the process disagree on the deadline
-- column: status_disagrees | the latest report fits the clock neither an hour before nor after it
-- column: open_after_finish | an event created after finished_at reports an open status
-- column: identity_changed | events of the process disagree on type or seller

with events as (
    select *, struct_pack(created_at, occurred_at, event_id) as place
    from review_events
),

reviews as (
    select
        process_id,
        min(created_at) as opened_at,
        arg_min(seller_id, place) as seller_id,
        arg_min(object_type, place) as object_type,
        max(created_at) as reported_at,
        arg_max(deadline_at, place) as deadline_at,
        arg_max(requested_fields, place) as requested_fields,
        nullif(arg_max(coalesce(status, ''), place), '') as reported_status,
        min(created_at) filter (where status = 'FINISHED') as platform_finished_at,
        min(occurred_at) filter (where status = 'FINISHED') as finish_received_at,
        max(created_at) filter (where gravity(status) is not null) as last_open_report_at,
        min(occurred_at) as first_received_at,
        -- One event, or several that say the same and nothing that the clock had not said by then.
        count(*) = 1 or (
            min(deadline_at) = max(deadline_at)
            and min(object_type) = max(object_type)
            and not bool_or(coalesce(
                gravity(status) = 3 and occurred_at < deadline_at
                or gravity(status) = 2 and object_type = 'REGISTRATION_REVIEW_REQUIRED'
                    and occurred_at < in_calendar(deadline_at - interval 30 day),
                false
            ))
        ) as is_steady,
        count(*) as events,
        min(deadline_at) <> max(deadline_at) as deadline_changed,
        min(object_type) <> max(object_type)
            or min(seller_id) <> max(seller_id) as identity_changed
    from events
    group by process_id
),

deadline_reports as (
    -- A report only counts for the deadline that its event carries.
    select
        process_id,
        deadline_at,
        max(gravity(status)) as gravest,
        min(struct_pack(place, seq)) as first_one,
        min(struct_pack(place, seq)) filter (where status = 'OVERDUE') as first_overdue,
        min(struct_pack(place, seq)) filter (where status = 'EXPIRED') as first_expired
    from events
    group by process_id, deadline_at
),

submissions as (
    select
        process_id,
        arg_min(seller_id, struct_pack(ordered_at, attempt_id)) as seller_id,
        count(*) filter (where outcome <> 'refused') as attempts,
        arg_max(outcome, struct_pack(ordered_at, attempt_id))
            filter (where outcome <> 'refused') as last_outcome,
        max(ordered_at) filter (where outcome <> 'refused') as last_attempt_at,
        struct_extract(
            max(struct_pack(
                ordered_at,
                attempt_id,
                timeout_at := case when finished_at is null then timeout_at end
            )) filter (where outcome <> 'refused'),
            'timeout_at'
        ) as in_flight_until,
        min(finished_at) filter (where outcome = 'accepted') as accepted_at
    from attempts
    group by process_id
),

collected as (
    select
        process_id,
        arg_min(seller_id, struct_pack(occurred_at, seller_id)) as seller_id,
        min(occurred_at) as collected_at,
        min(occurred_at) filter (where step in ('opened', 'answered', 'confirmed'))
            as journey_opened_at,
        max(occurred_at) filter (where step = 'answered' and source = 'seller') as answered_at
    from facts.collections
    where occurred_at <= (select as_of from clock)
    group by process_id
),

known as (
    select
        coalesce(reviews.process_id, submissions.process_id, collected.process_id) as process_id,
        coalesce(reviews.seller_id, submissions.seller_id, collected.seller_id) as seller_id,
        case reviews.object_type
            when 'REGISTRATION_REVIEW_REQUIRED' then 'ACP'
            when 'INCONSISTENT_DATA_UPDATE_REQUIRED' then 'ACI'
        end as review_type,
        reviews.process_id is not null as has_event,
        reviews.opened_at,
        reviews.deadline_at,
        deadline_reports.gravest,
        deadline_reports.first_one,
        deadline_reports.first_overdue,
        deadline_reports.first_expired,
        reviews.requested_fields,
        reviews.reported_status,
        reviews.reported_at,
        reviews.last_open_report_at,
        reviews.deadline_changed,
        reviews.identity_changed,
        reviews.first_received_at,
        reviews.is_steady,
        reviews.events,
        least(submissions.accepted_at, reviews.platform_finished_at) as finished_at,
        case
            when submissions.accepted_at <= reviews.platform_finished_at then 'submission'
            when reviews.platform_finished_at is not null then 'platform'
            when submissions.accepted_at is not null then 'submission'
        end as finished_by,
        least(submissions.accepted_at, reviews.finish_received_at) as finished_known_at,
        coalesce(submissions.attempts, 0) as attempts,
        submissions.last_outcome,
        submissions.last_attempt_at,
        submissions.in_flight_until,
        collected.collected_at,
        collected.journey_opened_at,
        collected.answered_at
    from reviews
    left join deadline_reports
        on deadline_reports.process_id = reviews.process_id
        and deadline_reports.deadline_at = reviews.deadline_at
    full join submissions on submissions.process_id = reviews.process_id
    full join collected
        on collected.process_id = coalesce(reviews.process_id, submissions.process_id)
),

timed as (
    select
        *,
        case when review_type = 'ACP' then in_calendar(deadline_at - interval 30 day) else opened_at end
            as overdue_at
    from known
),

clocked as (
    select
        *,
        case
            when has_event and review_type is distinct from 'ACP' then timestamp '-infinity'
            else overdue_at
        end as overdue_by_clock,
        case when gravest >= 2 then timestamp '-infinity' else overdue_by_clock end
            as overdue_from,
        case when gravest = 3 then timestamp '-infinity' else deadline_at end as expired_from,
        least(overdue_at, first_overdue.place.created_at) as overdue_found_at,
        case
            when first_overdue.place.created_at < overdue_at then first_overdue.seq
            else first_one.seq
        end as overdue_found_seq,
        least(deadline_at, first_expired.place.created_at) as expired_found_at,
        case
            when first_expired.place.created_at < deadline_at then first_expired.seq
            else first_one.seq
        end as expired_found_seq
    from timed
)

select
    process_id,
    seller_id,
    review_type,
    opened_at,
    overdue_at,
    deadline_at,
    overdue_from,
    expired_from,
    requested_fields,
    reported_status,
    reported_at,
    finished_at,
    finished_by,
    attempts,
    last_outcome,
    last_attempt_at,
    in_flight_until,
    collected_at,
    journey_opened_at,
    answered_at,
    overdue_found_at,
    overdue_found_seq,
    expired_found_at,
    expired_found_seq,
    first_received_at,
    case when events = 1 then overdue_from when is_steady then overdue_by_clock end
        as overdue_since,
    case when events = 1 then expired_from when is_steady then deadline_at end as expired_since,
    finished_known_at,
    case when has_event then coalesce(
        abs(epoch_us(deadline_at) - epoch_us(opened_at)
            - case review_type when 'ACP' then 60 when 'ACI' then 30 end * 86400000000)
            > 86400000000,
        false
    ) end as deadline_mismatch,
    deadline_changed,
    case when has_event then coalesce(
        reported_status in ('PENDING', 'OVERDUE', 'EXPIRED')
        and reported_status
            <> clock_state(review_type, overdue_at, deadline_at, reported_at - interval 1 hour)
        and reported_status
            <> clock_state(review_type, overdue_at, deadline_at, reported_at + interval 1 hour),
        false
    ) end as status_disagrees,
    case when has_event then coalesce(last_open_report_at > finished_at, false) end
        as open_after_finish,
    identity_changed
from clocked
