-- One row per unfinished review process: the one thing to do next, by what was last tried and what
-- the seller has answered since the request (docs/contract.md#errors). What begins with `await_` is
-- somebody else's turn: nothing is to be done.
-- reads: unfinished_work
-- key: process_id
-- order: process_id
-- by: process_id
-- column: process_id | the platform's id of the process
-- column: next_action | word | ask_platform, await_answer, await_platform, open_ticket, correct_refusal, correct_certificate, await_retry, correct_credentials, correct_payload, check_ids, check_status, read_answer, send_again, find_event, submit, await_seller, remind_seller or start_collection
-- column: queue | word | act_now, expired, waiting_for_platform or waiting_for_seller: whose turn it is (docs/rules.md#queues)
-- column: fields_required | fields that a submission needs; null while nothing was asked for
-- column: fields_answered | those that the seller has answered since the request

select process_id, next_action, queue, fields_required, fields_answered
from unfinished_work
