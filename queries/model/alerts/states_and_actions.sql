-- One row per review process: its state, and what is to be done about it.
-- key: process_id
-- column: next_action | the one thing to do next: ask_platform, await_answer, await_platform, open_ticket, correct_refusal, correct_certificate, await_retry, correct_credentials, correct_payload, check_ids, check_status, read_answer, send_again, find_event, submit, await_seller, remind_seller or start_collection; null once finished

select
    process_state.process_id,
    seller_id,
    review_type,
    state,
    deadline_at,
    seconds_to_deadline,
    next_action,
    ticket_due
from process_state
left join next_actions on next_actions.process_id = process_state.process_id
