-- One row per attempt that was sent, with its place in its try and what comes next (rules.md
-- section 3). A try is one payload with its retries: a run of attempts with the same bytes.
-- reads: clock, attempts, process_state, interventions
-- key: attempt_id
-- column: attempt_id | the attempt
-- column: process_id | the review process
-- column: attempt_number | its place among the attempts of the process, from 1
-- column: try_number | the place of its try among those of the process, from 1
-- column: attempt_of_try | its place in the try, from 1: the n-th retry is the attempt n + 1
-- column: previous_attempt_id | the attempt of the process before it; null for the first
-- column: retry_ended_at | when a retry was no longer wanted: the next attempt, a replacement of the payload or the finish; null while wanted
-- column: is_given_up | 24 hours or 30 attempts were over with the retry still wanted
-- column: gives_up_at | when they are over; null after an outcome that is not retried
-- column: is_retry_pending | the same payload is to be sent again, once it is due
-- column: is_held | it would be, but our rules refuse it by now: a person has to decide
-- column: retry_due_at | not before this: the wait doubles from 1 s to 15 min, and Retry-After counts; null unless pending

with ordered as (
    select
        attempt_id,
        process_id,
        seller_id,
        ordered_at,
        outcome_at,
        is_retryable,
        retry_after_at,
        payload_sha256,
        row_number() over in_order as attempt_number,
        lag(attempt_id) over in_order as previous_attempt_id,
        lead(ordered_at) over in_order as next_at,
        payload_sha256 is distinct from lag(payload_sha256) over in_order
            or lag(attempt_id) over in_order is null as is_new_try
    from attempts
    where outcome <> 'refused'
    window in_order as (partition by process_id order by ordered_at, attempt_id)
),

numbered as (
    select
        *,
        count(*) filter (where is_new_try) over (
            partition by process_id order by attempt_number
        ) as try_number
    from ordered
),

placed as (
    select
        *,
        row_number() over of_try as attempt_of_try,
        first_value(ordered_at) over of_try as try_began_at
    from numbered
    window of_try as (partition by process_id, try_number order by attempt_number)
),

replaced as (
    select placed.attempt_id, min(interventions.occurred_at) as replaced_at
    from placed
    join interventions
        on interventions.process_id = placed.process_id
        and interventions.kind = 'replacement'
        and interventions.occurred_at >= placed.ordered_at
    group by placed.attempt_id
),

ended as (
    select
        placed.*,
        least(placed.next_at, replaced.replaced_at, process_state.finished_at) as retry_ended_at,
        case
            when placed.is_retryable and placed.attempt_of_try >= 30 then placed.outcome_at
            when placed.is_retryable
                then greatest(placed.outcome_at, in_calendar(placed.try_began_at + interval 24 hour))
        end as gives_up_at
    from placed
    join process_state on process_state.process_id = placed.process_id
    left join replaced on replaced.attempt_id = placed.attempt_id
),

judged as (
    select
        *,
        coalesce(
            gives_up_at <= (select as_of from clock)
            and (retry_ended_at is null or gives_up_at < retry_ended_at),
            false
        ) as is_given_up
    from ended
),

-- Refused for another seller, in a wrong path, the same bytes were not judged by what they are.
refused as (
    select distinct ended.attempt_id
    from ended
    join attempts as refusals
        on refusals.process_id = ended.process_id
        and refusals.outcome = 'refused'
        and refusals.payload_sha256 = ended.payload_sha256
        and refusals.seller_id is not distinct from ended.seller_id
        and refusals.ordered_at > ended.ordered_at
),

waiting as (
    select
        judged.*,
        is_retryable and retry_ended_at is null and not is_given_up as is_waiting,
        refused.attempt_id is not null as is_refused
    from judged
    left join refused on refused.attempt_id = judged.attempt_id
)

select
    attempt_id,
    process_id,
    attempt_number,
    try_number,
    attempt_of_try,
    previous_attempt_id,
    retry_ended_at,
    is_given_up,
    gives_up_at,
    is_waiting and not is_refused as is_retry_pending,
    is_waiting and is_refused as is_held,
    case
        when is_waiting and not is_refused
            then greatest(
                outcome_at + to_seconds(least(1 << least(attempt_of_try - 1, 10), 900)),
                retry_after_at
            )
    end as retry_due_at
from waiting
