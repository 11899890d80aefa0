-- One row per unfinished review process: how it stands, and the one thing to do next, by what was last tried
-- and what the seller has answered since the request (docs/contract.md#errors).
-- key: process_id
-- column: seller_id | the seller under review: `customer_id` of the earliest event; with no event, the seller of the first attempt, else collection, that names one
-- column: next_action | word | the one thing to do next: ask_platform, await_answer, await_platform, open_ticket, correct_refusal, correct_certificate, await_retry, correct_credentials, correct_payload, check_ids, check_status, read_answer, send_again, find_event, submit, await_seller, remind_seller or start_collection
-- column: queue | word | act_now, expired, waiting_for_platform or waiting_for_seller: whose turn it is (docs/rules.md#queues)
-- column: fields_required | fields that a submission needs; null while nothing was asked for
-- column: fields_answered | those that the seller has answered since the request
-- column: lacks_type | nothing can be sent: neither the log nor the seller says whether the seller is an individual or a business

with states as (
    select *, as_of() as as_of from unfinished_states
)

select
    states.* exclude (confirmed_at, contacted_at, contact_channel, contact_message_id, contacted_by, was_asked, is_ticket_open, as_of),
    case
        when seller_deleted_at is not null and state <> 'UNKNOWN' then 'ask_platform'
        when last_attempts.outcome = 'in_flight' then 'await_answer'
        when is_ticket_open then 'await_platform'
        when ticket_due then 'open_ticket'
        when last_attempts.is_held then 'correct_refusal'
        when last_attempts.outcome = 'tls_refused' then 'correct_certificate'
        when last_attempts.is_retry_pending and last_attempts.via in ('cli', 'api') then 'await_retry'
        when last_attempts.outcome = 'unauthorized' then 'correct_credentials'
        when last_attempts.outcome = 'invalid_payload'
            then case
                when answered = required and confirmed_at > last_attempts.outcome_at then 'submit'
                else 'correct_payload'
            end
        when last_attempts.outcome = 'not_found' then 'check_ids'
        when last_attempts.outcome = 'conflict' then 'check_status'
        when last_attempts.outcome = 'unexpected_status' then 'read_answer'
        when last_attempts.outcome is not null then 'send_again'
        when opened_at is null then 'find_event'
        when required is null then 'ask_platform'
        when answered = required then 'submit'
        when contacted_at > as_of - seller_patience() then 'await_seller'
        when was_asked then 'remind_seller'
        else 'start_collection'
    end as next_action,
    case
        when next_action in ('start_collection', 'remind_seller') and scheduled.process_id is not null
            then if(state = 'EXPIRED', 'expired', 'waiting_for_seller')
        when not starts_with(next_action, 'await_')
            or (
                next_action <> 'await_answer'
                and deadline_at > as_of
                and deadline_at < as_of + to_hours(alert_rules().even_while_awaiting)
            )
            then 'act_now'
        when state = 'EXPIRED' then 'expired'
        when next_action <> 'await_seller' then 'waiting_for_platform'
        else 'waiting_for_seller'
    end as queue,
    required as fields_required,
    answered as fields_answered,
    coalesce(lacks_type, false) as lacks_type
from states
left join clocked_attempts as last_attempts on last_attempts.process_id = states.process_id and last_attempts.is_last
left join answer_progress on answer_progress.process_id = states.process_id
left join scheduled_processes as scheduled on scheduled.process_id = states.process_id
