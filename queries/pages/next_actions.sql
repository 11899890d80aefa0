-- One row per unfinished review process: the one thing to do next, by what was last tried and what
-- the seller has answered so far (contract, "Errors", column "Expected action").
-- reads: process_facts, tries
-- key: process_id
-- by: process_id
-- column: process_id | the platform's id of the process
-- column: next_action | await_answer, await_retry, mend_refusal, open_ticket, mend_credentials, mend_payload, check_ids, check_status, read_answer, send_again, submit, remind_seller, find_event or start_collection

select
    process_facts.process_id,
    case
        when tries.outcome = 'in_flight' then 'await_answer'
        when tries.is_given_up then 'open_ticket'
        when tries.is_held then 'mend_refusal'
        when tries.is_retry_pending and tries.via in ('cli', 'api') then 'await_retry'
        when tries.outcome = 'unauthorized' then 'mend_credentials'
        when tries.outcome = 'invalid_payload' then 'mend_payload'
        when tries.outcome = 'not_found' then 'check_ids'
        when tries.outcome = 'conflict' then 'check_status'
        when tries.outcome = 'unexpected_status' then 'read_answer'
        when tries.outcome is not null then 'send_again'
        when process_facts.answered_at is not null then 'submit'
        when process_facts.collected_at is not null then 'remind_seller'
        when process_facts.opened_at is null then 'find_event'
        else 'start_collection'
    end as next_action
from process_facts
left join tries on tries.process_id = process_facts.process_id and tries.is_last
where process_facts.finished_at is null
