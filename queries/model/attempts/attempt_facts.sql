-- One row per submission attempt known at as_of, with its place among those of its process and in its
-- try, and all else that no clock moves of what comes next (docs/rules.md#tries-and-retries). A try is
-- one payload with its retries: a run of attempts with the same bytes. `clocked_attempts` sets the clock against
-- it.
--
-- Materialized in `kept_attempts`, as they are at the end of time.
-- key: attempt_id
-- column: attempt_id | our id of the attempt
-- column: finished_at | the answer, the timeout or the failure; null while open
-- column: attempt_number | its place among the attempts of the process, from 1; null for a refusal
-- column: try_number | which try it belongs to, from 1: one payload and its retries; null for a refusal
-- column: attempt_of_try | its place in the try, from 1: the n-th retry is the attempt n + 1; null for a refusal
-- column: previous_attempt_id | the attempt of the process before it; null for the first
-- column: is_last | no attempt of the process comes after it; null for a refusal
-- column: retry_ended_at | when a retry was no longer wanted: the next attempt, a replacement of the payload or the finish; null while wanted, and for a refusal
-- column: gives_up_at | when 24 hours or 30 attempts are over, whatever the outcome
-- column: is_refused | our rules have refused the same payload since
-- column: failures | how many attempts of the try in a row ended as platform_error, up to this one; 0 where it did not, null for a refusal
-- column: failing_since | when the first of these started
-- column: was_given_up | an attempt before it in its try was given up

with placed as (
    select
        *,
        outcome <> 'refused' as is_sent,
        -- Without an answer in time it would be sent again from then on, whenever one comes.
        least(outcome_at, timeout_at) as over_at,
        row_number() over in_order as attempt_number,
        lag(attempt_id) over in_order as previous_attempt_id,
        lead(ordered_at) over in_order as next_at,
        payload_sha256 is distinct from lag(payload_sha256) over in_order
            or lag(attempt_id) over in_order is null as is_new_try
    from attempts
    window in_order as (
        partition by process_id, outcome <> 'refused' order by ordered_at, attempt_id
    )
),

numbered as (
    select
        *,
        count(*) filter (where is_new_try) over (
            partition by process_id, is_sent order by attempt_number
        ) as try_number
    from placed
),

tried as (
    select
        *,
        row_number() over of_try as attempt_of_try,
        first_value(ordered_at) over of_try as try_began_at,
        -- Not that of the attempt that started as the 30th: in another system's log they overlap.
        nth_value(over_at, 30) over (
            partition by process_id, is_sent, try_number order by over_at
            rows between unbounded preceding and unbounded following
        ) as thirtieth_end,
        max(attempt_number) filter (outcome <> 'platform_error') over of_try as other_number
    from numbered
    window of_try as (partition by process_id, is_sent, try_number order by attempt_number)
),

-- A run of failures follows the last attempt of the try that ended otherwise.
run as (
    select
        attempt_id,
        row_number() over of_run as failures,
        first_value(ordered_at) over of_run as failing_since
    from tried
    where is_sent and outcome = 'platform_error'
    window of_run as (
        partition by process_id, try_number, other_number order by attempt_number
    )
),

-- A replacement stands at the very instant of the start that it allows, and ends what was sent before.
replaced as (
    select tried.attempt_id, min(interventions.occurred_at) as replaced_at
    from tried
    join interventions
        on interventions.process_id = tried.process_id
        and interventions.kind = 'replacement'
        and interventions.occurred_at > tried.ordered_at
    group by tried.attempt_id
),

-- Refused for another seller, in a wrong path, the same bytes were not judged by what they are.
refused as (
    select distinct tried.attempt_id
    from tried
    join tried as refusals
        on refusals.process_id = tried.process_id
        and not refusals.is_sent
        and refusals.payload_sha256 = tried.payload_sha256
        and refusals.seller_id is not distinct from tried.seller_id
        and refusals.ordered_at > tried.ordered_at
),

ended as (
    select
        tried.attempt_id,
        tried.process_id,
        tried.seller_id,
        via,
        started_at,
        tried.finished_at,
        ordered_at,
        timeout_at,
        status,
        error,
        outcome,
        outcome_at,
        is_retryable,
        retry_after_at,
        payload_type,
        has_payload,
        payload_sha256,
        start_seq,
        finish_seq,
        case when is_sent then attempt_number end as attempt_number,
        case when is_sent then try_number end as try_number,
        case when is_sent then attempt_of_try end as attempt_of_try,
        case when is_sent then previous_attempt_id end as previous_attempt_id,
        case when is_sent then next_at is null end as is_last,
        case when is_sent then least(next_at, replaced_at, finished.finished_at) end
            as retry_ended_at,
        case
            when is_sent then greatest(over_at, least(
                in_calendar(try_began_at + interval 24 hour),
                case when attempt_of_try >= 30 then thirtieth_end end
            ))
        end as gives_up_at,
        case when is_sent then refused.attempt_id is not null end as is_refused,
        case when is_sent then coalesce(failures, 0) end as failures,
        failing_since
    from tried
    left join finished_processes as finished on finished.process_id = tried.process_id
    left join replaced on replaced.attempt_id = tried.attempt_id
    left join refused on refused.attempt_id = tried.attempt_id
    left join run on run.attempt_id = tried.attempt_id
)

select
    *,
    case when attempt_number is not null then coalesce(
        bool_or(is_retryable and gives_up_at < retry_ended_at) over (
            partition by process_id, try_number
            order by attempt_number
            rows between unbounded preceding and 1 preceding
        ),
        false
    ) end as was_given_up
from ended
