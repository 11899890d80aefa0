-- One row per review process seen in a review event, an attempt or a collection (rules.md
-- section 2), as it stands at as_of.
--
--     (created) --ACP--> PENDING --30 days--> OVERDUE --30 days--> EXPIRED
--     (created) --ACI-----------------------> OVERDUE --30 days--> EXPIRED
--     PENDING, OVERDUE, EXPIRED --a 200, or the platform reports it--> FINISHED
--
-- reads: clock, review_events, attempts, facts.collections
-- key: process_id
-- column: process_id | the platform's id of the process
-- column: seller_id | `customer_id` of the earliest event; else of the first attempt or collection
-- column: review_type | ACP or ACI, from the earliest event alone; null for an unknown type
-- column: state | PENDING, OVERDUE, EXPIRED, FINISHED; UNKNOWN while no review event is known
-- column: opened_at | when the platform created the earliest event
-- column: overdue_at | ACP: 30 days before the deadline; otherwise opened_at
-- column: deadline_at | the deadline that the latest event carries
-- column: days_to_deadline | whole days of 24 hours left; 0 is due within 24 hours, negative is late; null once finished
-- column: days_to_overdue | whole days until overdue_at, only while PENDING
-- column: requested_fields | the field paths that the latest event asks for
-- column: reported_status | the status that the latest event reports
-- column: reported_at | when the platform created the latest event
-- column: finished_at | the first end of an attempt answered 200 or creation of a report of FINISHED
-- column: finished_by | submission or platform, whichever was first; on a tie, submission
-- column: finished_late | finished at the deadline or after it; false while unfinished; null where no deadline is known
-- column: attempts | submission attempts that were sent (refusals left out)
-- column: last_outcome | what became of the last of them
-- column: last_attempt_at | when the last of them started
-- column: deadline_mismatch | the deadline is more than a day off 60 (ACP) or 30 (ACI) days
-- column: deadline_changed | events of the process disagree on the deadline
-- column: status_disagrees | the latest report fits the clock neither an hour before nor after it
-- column: open_after_finish | an event created after finished_at reports an open status
-- column: identity_changed | events of the process disagree on type or seller

with deadlines as (
    -- Events of a process by the deadline they carry: a report only counts for its own deadline.
    select
        process_id,
        deadline_at,
        min(struct_pack(created_at, occurred_at, event_id, seller_id, object_type)) as earliest,
        max(struct_pack(created_at, occurred_at, event_id, status, requested_fields)) as latest,
        max(gravity(status)) as gravest,
        min(created_at) filter (where status = 'FINISHED') as platform_finished_at,
        max(created_at) filter (where gravity(status) is not null) as last_open_report_at,
        min(object_type) as least_type,
        max(object_type) as greatest_type,
        min(seller_id) as least_seller,
        max(seller_id) as greatest_seller
    from review_events
    group by process_id, deadline_at
),

reviews as (
    select
        process_id,
        min(earliest) as earliest,
        arg_max(struct_pack(deadline_at, latest, gravest), latest) as current,
        min(platform_finished_at) as platform_finished_at,
        max(last_open_report_at) as last_open_report_at,
        count(*) > 1 as deadline_changed,
        min(least_type) <> max(greatest_type)
            or min(least_seller) <> max(greatest_seller) as identity_changed
    from deadlines
    group by process_id
),

submissions as (
    select
        process_id,
        arg_min(seller_id, struct_pack(ordered_at, attempt_id)) as seller_id,
        count(*) filter (where outcome <> 'refused') as attempts,
        arg_max(struct_pack(outcome, ordered_at), struct_pack(ordered_at, attempt_id))
            filter (where outcome <> 'refused') as last,
        min(finished_at) filter (where outcome = 'accepted') as accepted_at
    from attempts
    group by process_id
),

collected as (
    select
        process_id,
        arg_min(seller_id, struct_pack(occurred_at, seller_id)) as seller_id
    from facts.collections
    where occurred_at <= (select as_of from clock)
    group by process_id
),

known as (
    select
        coalesce(reviews.process_id, submissions.process_id, collected.process_id) as process_id,
        coalesce(reviews.earliest.seller_id, submissions.seller_id, collected.seller_id)
            as seller_id,
        case reviews.earliest.object_type
            when 'REGISTRATION_REVIEW_REQUIRED' then 'ACP'
            when 'INCONSISTENT_DATA_UPDATE_REQUIRED' then 'ACI'
        end as review_type,
        reviews.process_id is not null as has_event,
        reviews.earliest.created_at as opened_at,
        reviews.current.deadline_at as deadline_at,
        reviews.current.gravest as gravest,
        reviews.current.latest.requested_fields as requested_fields,
        reviews.current.latest.status as reported_status,
        reviews.current.latest.created_at as reported_at,
        reviews.last_open_report_at,
        reviews.deadline_changed,
        reviews.identity_changed,
        least(submissions.accepted_at, reviews.platform_finished_at) as finished_at,
        case
            when submissions.accepted_at <= reviews.platform_finished_at then 'submission'
            when reviews.platform_finished_at is not null then 'platform'
            when submissions.accepted_at is not null then 'submission'
        end as finished_by,
        coalesce(submissions.attempts, 0) as attempts,
        submissions.last.outcome as last_outcome,
        submissions.last.ordered_at as last_attempt_at
    from reviews
    full join submissions on submissions.process_id = reviews.process_id
    full join collected
        on collected.process_id = coalesce(reviews.process_id, submissions.process_id)
),

timed as (
    select
        *,
        case when review_type = 'ACP' then deadline_at - interval 30 day else opened_at end
            as overdue_at,
        (select as_of from clock) as as_of
    from known
),

judged as (
    select
        *,
        case
            when finished_at is not null then 'FINISHED'
            when not has_event then 'UNKNOWN'
            when gravest > gravity(clock_state(review_type, overdue_at, deadline_at, as_of))
                then case gravest when 2 then 'OVERDUE' else 'EXPIRED' end
            else clock_state(review_type, overdue_at, deadline_at, as_of)
        end as state
    from timed
)

select
    process_id,
    seller_id,
    review_type,
    state,
    opened_at,
    overdue_at,
    deadline_at,
    case when finished_at is null then whole_days(deadline_at, as_of) end as days_to_deadline,
    case when state = 'PENDING' then whole_days(overdue_at, as_of) end as days_to_overdue,
    requested_fields,
    reported_status,
    reported_at,
    finished_at,
    finished_by,
    finished_at is not null and finished_at >= deadline_at as finished_late,
    attempts,
    last_outcome,
    last_attempt_at,
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
from judged
