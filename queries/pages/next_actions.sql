-- One row per unfinished review process: the one thing to do next, by what was last tried and what
-- the seller has answered so far (contract, "Errors", column "Expected action").
-- reads: process_state, process_journeys, submission_attempts
-- key: process_id
-- by: process_id
-- column: process_id | the platform's id of the process
-- column: next_action | await_answer, await_retry, mend_refusal, open_ticket, mend_credentials, mend_payload, check_ids, check_status, read_answer, send_again, submit, remind_seller, find_event or start_collection

with tries as (
    select
        process_id,
        max_by(is_given_up, attempt_number) as is_given_up,
        max_by(is_held, attempt_number) as is_held,
        max_by(is_retry_pending and coalesce(via in ('cli', 'api'), false), attempt_number)
            as is_resent_by_us
    from submission_attempts
    where attempt_number is not null
    group by process_id
)

select
    process_state.process_id,
    case
        when last_outcome = 'in_flight' then 'await_answer'
        when is_given_up then 'open_ticket'
        when is_held then 'mend_refusal'
        when is_resent_by_us then 'await_retry'
        when last_outcome = 'unauthorized' then 'mend_credentials'
        when last_outcome = 'invalid_payload' then 'mend_payload'
        when last_outcome = 'not_found' then 'check_ids'
        when last_outcome = 'conflict' then 'check_status'
        when last_outcome = 'unexpected_status' then 'read_answer'
        when last_outcome is not null then 'send_again'
        when answered_at is not null then 'submit'
        when journeys.process_id is not null then 'remind_seller'
        when state = 'UNKNOWN' then 'find_event'
        else 'start_collection'
    end as next_action
from process_state
left join process_journeys as journeys on journeys.process_id = process_state.process_id
left join tries on tries.process_id = process_state.process_id
where state <> 'FINISHED'
