-- One row per review process seen in a review event, an attempt or a collection: all that is known of it
-- by as_of and that no clock moves (docs/rules.md#review-processes). `process_state` sets the clock
-- against it.
--
-- Of OVERDUE, and likewise of EXPIRED, it has four instants: `overdue_from` decides the state, `overdue_found_at`
-- dates findings by the platform's time, `overdue_known_at` dates alerts by when we could know of it, and
-- `overdue_since` tells how each day ended.
--
-- Materialized in `kept_processes`, as they are at the end of time: from the last occurrence of a
-- process on, only the clock changes what `process_state` says of it.
-- key: process_id
-- column: seller_id | the seller under review: `customer_id` of the earliest event; with no event, the seller of the first attempt, else collection, that names one
-- column: review_type | word | the type, such as ACP, from the earliest event alone; null for an unknown type
-- column: opened_at | when the platform created the earliest event; null while none is known
-- column: overdue_at | when its days of PENDING are over (of an ACP, day 30), or 30 days before the deadline where that is earlier; of other types, opened_at
-- column: deadline_at | the current deadline: of the latest event that carries one, once finished of those before the end; where none does, the contract's total; null while no review event is known
-- column: overdue_from | from when it is at least OVERDUE, by the clock or as reported for this deadline; null without an event
-- column: expired_from | from when it is EXPIRED, likewise
-- column: requested_fields | text | the field paths asked for, by the latest event that carries a readable list; an empty list where none does
-- column: reported_status | text | the status that the latest event reports
-- column: reported_at | when the platform created the latest event
-- column: finished_at | the first end of an attempt answered 200 or creation of a report of FINISHED; null until then
-- column: attempts | submission attempts that were sent (refusals left out)
-- column: last_outcome | word | what became of the last of them
-- column: last_attempt_at | when the last of them started
-- column: in_flight_until | when the wait for an answer to the last of them ends; null once that attempt has ended
-- column: journey_opened_at | the first that the seller took: opened, answered or confirmed
-- column: answered_at | latest answer that the seller gave; what came from elsewhere is none
-- column: confirmed_at | when the seller last confirmed what they answered
-- column: overdue_found_at | when it became OVERDUE: by the clock, or by an earlier report for this deadline
-- column: overdue_found_seq | the entry that shows it: that report, else the first event that itself carries this deadline, else the first
-- column: expired_found_at | when it became or becomes EXPIRED, likewise
-- column: expired_found_seq | the entry that shows it, likewise
-- column: overdue_known_at | when it was first known to be OVERDUE: the clock's strike or the receipt of a report, once the deadline was received
-- column: expired_known_at | when it was first known to be EXPIRED, likewise
-- column: first_received_at | when the first of its events was received; null while none is known
-- column: overdue_since | from when it is at least OVERDUE for each day's end as well; null where its events took the state back or ahead of its clock, so that days follow from `unsteady_stays`
-- column: expired_since | from when it is EXPIRED, likewise
-- column: deadline_mismatch | the deadline is more than a day off the contract's total
-- column: deadline_changed | events of the process disagree on the deadline
-- column: status_disagrees | the latest report fits the clock neither an hour before nor after it
-- column: open_after_finish | an event created after finished_at reports an open status
-- column: identity_changed | events of the process disagree on type or seller
-- column: is_ticket_open | a support ticket was opened, and not closed since
-- column: ticket_due_from | from when a person has to open one; null while it is not known, once one is open and once finished
-- column: contacted_at | when the seller was last contacted, by what still stands
-- column: contact_channel | text | by which channel that was
-- column: contact_message_id | text | of which message, call or letter; null for a step of the seller's
-- column: contacted_by | staff | who called, posted or sent that by hand; null for the schedule, the seller, another system
-- column: was_asked | the seller was contacted, or reminded as it was recorded before there were seller notices
-- column: unnotified_from | from when on it shows that nobody contacted the seller between the first receipt and the end of the time; null where somebody did
-- column: late_notice_from | from when on it shows that nobody did in the first half of that time; null where somebody did, or it was finished before
-- column: first_received_seq | the entry of the first of its events
-- column: was_received_live | the first of its events came by a webhook, not by a file
-- column: has_late_contact | a contact that stands was recorded more than 24 hours after it happened

with undated as (
    -- Without a deadline, a report counts for that of the latest event before it that carries one.
    select
        seq,
        last_value(deadline_at ignore nulls) over (
            partition by process_id order by created_at, occurred_at, event_id, content_sha256
        ) as counts_for
    from review_events
    where process_id in (select process_id from review_events where deadline_at is null)
),

events as (
    -- In their order by number: of several columns DuckDB would make a key for each row and aggregate.
    -- Of two that are equal the one recorded first comes first.
    select
        review_events.*,
        row_number() over (
            partition by review_events.process_id
            order by created_at, occurred_at, event_id, content_sha256, review_events.seq
        ) as place,
        coalesce(deadline_at, counts_for) as counts_for,
        -- What comes with the end or after it moves no deadline.
        finished_at is null or created_at < finished_at
            or (created_at = finished_at and status is distinct from 'FINISHED') as may_move
    from review_events
    left join undated on undated.seq = review_events.seq
    left join finished_processes on finished_processes.process_id = review_events.process_id
),

reviews as (
    select
        process_id,
        min(created_at) as opened_at,
        nullif(arg_min(coalesce(seller_id, ''), place), '') as seller_id,
        contract.review_type(arg_min(coalesce(object_type, ''), place)) as review_type,
        max(created_at) as reported_at,
        coalesce(
            arg_max(deadline_at, place) filter (where may_move), arg_min(deadline_at, place)
        ) as deadline_at,
        coalesce(arg_max(requested_fields, place), []) as requested_fields,
        nullif(arg_max(coalesce(status, ''), place), '') as reported_status,
        max(created_at) filter (where gravity(status) is not null) as last_open_report_at,
        min(occurred_at) as first_received_at,
        arg_min(seq, struct_pack(occurred_at, seq)) as first_received_seq,
        arg_min(origin = 'live', struct_pack(occurred_at, seq)) as was_received_live,
        arg_min(deadline_at, place) as first_deadline_at,
        min(occurred_at) filter (where status = 'OVERDUE') as overdue_received_at,
        min(occurred_at) filter (where status = 'EXPIRED') as expired_received_at,
        -- All say the same from the first one received on.
        count(deadline_at) = count(*) and min(deadline_at) = max(deadline_at)
            and count(object_type) = count(*) and min(object_type) = max(object_type)
            and min(struct_pack(occurred_at, created_at)).created_at = min(created_at)
            as are_alike,
        count(*) as events,
        coalesce(min(deadline_at) <> max(deadline_at), false) as deadline_changed,
        coalesce(min(object_type) <> max(object_type), false)
            or coalesce(min(seller_id) <> max(seller_id), false) as identity_changed
    from events
    group by process_id
),

reviewed as (
    select
        * replace (
            contract_deadline(deadline_at, opened_at, review_type) as deadline_at,
            contract_deadline(first_deadline_at, opened_at, review_type) as first_deadline_at
        ),
        overdue_instant(deadline_at, opened_at, review_type) as overdue_at
    from reviews
),

returned as (
    -- A deadline that another one took the place of, and that came back, is known from then on.
    select events.process_id, max(place) as last_other
    from events
    join reviewed on reviewed.process_id = events.process_id
    where reviewed.deadline_changed and may_move and events.counts_for <> reviewed.deadline_at
    group by events.process_id
),

deadline_reports as (
    -- A report only counts for the deadline that its event carries.
    select
        events.process_id,
        max(gravity(events.status)) as gravest,
        coalesce(
            arg_min(struct_pack(created_at, seq), place)
                filter (where events.deadline_at is not null),
            arg_min(struct_pack(created_at, seq), place)
        ) as first_one,
        arg_min(struct_pack(created_at, seq), place)
            filter (where events.status = 'OVERDUE') as first_overdue,
        arg_min(struct_pack(created_at, seq), place)
            filter (where events.status = 'EXPIRED') as first_expired,
        min(events.occurred_at) filter (where place > coalesce(last_other, 0))
            as deadline_received_at,
        min(events.occurred_at) filter (where events.status = 'OVERDUE') as overdue_heard_at,
        min(events.occurred_at) filter (where events.status = 'EXPIRED') as expired_heard_at
    from events
    join reviewed on reviewed.process_id = events.process_id
    left join returned on returned.process_id = events.process_id
    where events.counts_for is null or events.counts_for = reviewed.deadline_at
    group by events.process_id
),

submissions as (
    select
        process_id,
        arg_min(seller_id, struct_pack(ordered_at, attempt_id)) as seller_id,
        count(*) filter (where outcome <> 'refused') as attempts,
        -- One that waits for its answer counts as lost here: `in_flight_until` says how long it waits.
        arg_max(
            if(outcome = 'in_flight', 'unknown', outcome), struct_pack(ordered_at, attempt_id)
        ) filter (where outcome <> 'refused') as last_outcome,
        max(ordered_at) filter (where outcome <> 'refused') as last_attempt_at,
        struct_extract(
            max(struct_pack(
                ordered_at,
                attempt_id,
                timeout_at := case when finished_at is null then timeout_at end
            )) filter (where outcome <> 'refused'),
            'timeout_at'
        ) as in_flight_until,
        -- What the last of them says of a ticket (docs/rules.md#tickets).
        max(
            case
                when was_given_up then timestamp '-infinity'
                -- One that waits for its answer will be `unknown` by then.
                when (is_retryable or outcome = 'in_flight')
                    and coalesce(gives_up_at < retry_ended_at, true)
                    then gives_up_at
            end
        ) filter (where is_last) as given_up_from,
        bool_or(failures >= 3) filter (where is_last) as is_failing,
        bool_or(failures >= 5 and outcome_at >= failing_since + interval 1 hour)
            filter (where is_last) as has_failed_long
    from attempt_facts
    group by process_id
),

collected as (
    select
        process_id,
        arg_min(seller_id, struct_pack(occurred_at, seller_id)) as seller_id,
        min(occurred_at) filter (where step in ('opened', 'answered', 'confirmed'))
            as journey_opened_at,
        max(occurred_at) filter (where step = 'answered' and source = 'seller') as answered_at,
        max(occurred_at) filter (where step = 'confirmed' and source = 'seller') as confirmed_at
    from fact_collections
    where occurred_at <= as_of()
    group by process_id
),

acted as (
    select
        process_id,
        bool_or(kind = 'reminded') as was_reminded,
        -- At one instant, closed comes after opened.
        arg_max(step = 'opened', struct_pack(occurred_at, is_closed := step = 'closed'))
            filter (where kind = 'ticket') as is_ticket_open
    from fact_actions
    where kind in ('reminded', 'ticket') and occurred_at <= as_of()
    group by process_id
),

known as (
    select
        coalesce(reviewed.process_id, submissions.process_id, collected.process_id) as process_id,
        case
            when reviewed.process_id is not null then reviewed.seller_id
            else coalesce(submissions.seller_id, collected.seller_id)
        end as seller_id,
        reviewed.review_type,
        reviewed.process_id is not null as has_event,
        reviewed.opened_at,
        reviewed.overdue_at,
        reviewed.deadline_at,
        deadline_reports.gravest,
        deadline_reports.first_one,
        deadline_reports.first_overdue,
        deadline_reports.first_expired,
        greatest(
            least(reviewed.overdue_at, deadline_reports.overdue_heard_at),
            deadline_reports.deadline_received_at
        ) as overdue_known_at,
        greatest(
            least(reviewed.deadline_at, deadline_reports.expired_heard_at),
            deadline_reports.deadline_received_at
        ) as expired_known_at,
        reviewed.requested_fields,
        reviewed.reported_status,
        reviewed.reported_at,
        reviewed.last_open_report_at,
        reviewed.deadline_changed,
        reviewed.identity_changed,
        reviewed.first_received_at,
        reviewed.first_received_seq,
        reviewed.was_received_live,
        reviewed.first_deadline_at,
        reviewed.events = 1 or (
            are_alike
            -- No report came ahead of the clock.
            and coalesce(expired_received_at >= reviewed.deadline_at, true)
            and coalesce(
                contract.pending_days(review_type) = 0
                    or overdue_received_at >= reviewed.overdue_at,
                true
            )
        ) as is_steady,
        reviewed.events,
        coalesce(submissions.attempts, 0) as attempts,
        submissions.last_outcome,
        submissions.last_attempt_at,
        submissions.in_flight_until,
        submissions.given_up_from,
        submissions.is_failing,
        submissions.has_failed_long,
        collected.journey_opened_at,
        collected.answered_at,
        collected.confirmed_at
    from reviewed
    left join deadline_reports on deadline_reports.process_id = reviewed.process_id
    full join submissions on submissions.process_id = reviewed.process_id
    full join collected
        on collected.process_id = coalesce(reviewed.process_id, submissions.process_id)
),

clocked as (
    select
        *,
        case
            when has_event and contract.pending_days(review_type) = 0
                then timestamp '-infinity'
            else overdue_at
        end as overdue_by_clock,
        case when gravest >= 2 then timestamp '-infinity' else overdue_by_clock end
            as overdue_from,
        case when gravest = 3 then timestamp '-infinity' else deadline_at end as expired_from,
        least(overdue_at, first_overdue.created_at) as overdue_found_at,
        case
            when first_overdue.created_at < overdue_at then first_overdue.seq
            else first_one.seq
        end as overdue_found_seq,
        least(deadline_at, first_expired.created_at) as expired_found_at,
        case
            when first_expired.created_at < deadline_at then first_expired.seq
            else first_one.seq
        end as expired_found_seq
    from known
),

halved as (
    -- Rounded down to the microsecond.
    select
        *,
        first_received_at + to_microseconds(
            (epoch_us(first_deadline_at) - epoch_us(first_received_at)) // 2
        ) as half_at
    from clocked
),

contacted as (
    select
        contacts.process_id,
        max(contacted_at) filter (where withdrawn_at is null) as contacted_at,
        arg_min(
            struct_pack(channel, message_id, contacted_by),
            contact_order(contacted_at, channel, message_id)
        ) filter (where withdrawn_at is null) as last_contact,
        bool_or(withdrawn_at is null) filter (where is_in_time) as was_in_time,
        max(withdrawn_at) filter (where is_in_time) as withdrawn_in_time_at,
        bool_or(withdrawn_at is null) filter (where is_early) as was_early,
        max(withdrawn_at) filter (where is_early) as withdrawn_early_at,
        bool_or(is_recorded_late and withdrawn_at is null) as has_late_contact
    from (
        select
            contacts.*,
            contacted_at between first_received_at and expired_found_at as is_in_time,
            contacted_at between first_received_at and half_at as is_early
        from contacts
        join halved on halved.process_id = contacts.process_id
    ) as contacts
    group by contacts.process_id
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
    journey_opened_at,
    answered_at,
    confirmed_at,
    overdue_found_at,
    overdue_found_seq,
    expired_found_at,
    expired_found_seq,
    overdue_known_at,
    expired_known_at,
    first_received_at,
    case when events = 1 then overdue_from when is_steady then overdue_by_clock end
        as overdue_since,
    case when events = 1 then expired_from when is_steady then deadline_at end as expired_since,
    finished_known_at,
    case when has_event then coalesce(
        abs(epoch_us(deadline_at) - epoch_us(opened_at)
            - contract.total_days(review_type) * 86400000000)
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
    identity_changed,
    coalesce(is_ticket_open, false) as is_ticket_open,
    case
        when finished_at is null and not coalesce(is_ticket_open, false) then least(
            given_up_from,
            case when has_failed_long then timestamp '-infinity' end,
            -- Less than 72 hours are left.
            case when is_failing then deadline_at - interval 72 hour + interval 1 microsecond end
        )
    end as ticket_due_from,
    contacted_at,
    last_contact.channel as contact_channel,
    last_contact.message_id as contact_message_id,
    last_contact.contacted_by,
    contacted_at is not null or coalesce(was_reminded, false) as was_asked,
    case
        when first_received_at < expired_found_at and not coalesce(was_in_time, false)
            then greatest(expired_found_at, withdrawn_in_time_at)
    end as unnotified_from,
    case
        when first_received_at < first_deadline_at
            and coalesce(finished_at >= half_at, true)
            and not coalesce(was_early, false)
            then greatest(half_at, withdrawn_early_at)
    end as late_notice_from,
    first_received_seq,
    was_received_live,
    coalesce(has_late_contact, false) as has_late_contact
from halved
left join contacted using (process_id)
left join acted using (process_id)
left join finished_processes using (process_id)
