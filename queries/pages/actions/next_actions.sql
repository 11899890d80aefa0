-- One row per unfinished review process: the one thing to do next, by what was last tried and what
-- the seller has answered since the request (docs/contract.md#errors). What begins with `await_` is
-- somebody else's turn: nothing is to be done.
-- reads: process_facts, process_state, tries, answer_progress
-- key: process_id
-- order: process_id
-- by: process_id
-- column: process_id | the platform's id of the process
-- column: next_action | ask_platform, await_answer, await_platform, open_ticket, correct_refusal, correct_certificate, await_retry, correct_credentials, correct_payload, check_ids, check_status, read_answer, send_again, find_event, submit, await_seller, remind_seller or start_collection
-- column: fields_required | fields that a submission needs; null while nothing was asked for
-- column: fields_answered | those that the seller has answered since the request

select
    process_facts.process_id,
    case
        when seller_deleted_at is not null and state <> 'UNKNOWN' then 'ask_platform'
        when tries.outcome = 'in_flight' then 'await_answer'
        when is_ticket_open then 'await_platform'
        when ticket_due then 'open_ticket'
        when tries.is_held then 'correct_refusal'
        when tries.outcome = 'tls_refused' then 'correct_certificate'
        when tries.is_retry_pending and tries.via in ('cli', 'api') then 'await_retry'
        when tries.outcome = 'unauthorized' then 'correct_credentials'
        when tries.outcome = 'invalid_payload'
            then case
                when answered = required and confirmed_at > tries.outcome_at then 'submit'
                else 'correct_payload'
            end
        when tries.outcome = 'not_found' then 'check_ids'
        when tries.outcome = 'conflict' then 'check_status'
        when tries.outcome = 'unexpected_status' then 'read_answer'
        when tries.outcome is not null then 'send_again'
        when process_facts.opened_at is null then 'find_event'
        when required is null then 'ask_platform'
        when answered = required then 'submit'
        when contacted_at > as_of() - seller_patience() then 'await_seller'
        when collected_at is not null or contacted_at is not null then 'remind_seller'
        else 'start_collection'
    end as next_action,
    required as fields_required,
    answered as fields_answered
from process_facts
join process_state on process_state.process_id = process_facts.process_id
left join tries on tries.process_id = process_facts.process_id and tries.is_last
left join answer_progress on answer_progress.process_id = process_facts.process_id
where process_facts.finished_at is null
