-- One row per try that was given up not long ago (retries_exhausted), and per process that a support
-- ticket may be due for, since its last attempt failed, or came after its try was given up, not long
-- ago (ticket_due).
-- in: alarming_conditions
-- key: kind, process_id, seq
--
-- condition: ticket_due
-- place: 40
-- severity: risk
-- role: officer
-- name: A support ticket is due
--
-- condition: retries_exhausted
-- place: 50
-- severity: risk
-- role: officer

with failed as (
    select
        *,
        was_retry_given_up(is_retryable, gives_up_at, retry_ended_at, as_of()) as is_given_up
    from attempt_facts
    where (is_retryable or (is_last and was_given_up))
        -- No attempt is given up before its end.
        and greatest(ordered_at, gives_up_at) > alerts_from()
)

select
    'retries_exhausted' as condition,
    'retries_exhausted' as kind,
    concat_ws(':', coalesce(finish_seq, start_seq), process_id, attempt_id) as subject,
    process_id,
    null as seller_id,
    gives_up_at as since,
    coalesce(finish_seq, start_seq) as seq
from failed
where is_given_up and not was_given_up
union all
select
    'ticket_due' as condition,
    'ticket_due' as kind,
    concat_ws(':', process_id, epoch_us(coalesce(failing_since, ordered_at))) as subject,
    process_id,
    null as seller_id,
    if(outcome = 'platform_error', outcome_at, ordered_at) as since,
    coalesce(finish_seq, start_seq) as seq
from failed
where is_last and (is_given_up or was_given_up or outcome = 'platform_error')
