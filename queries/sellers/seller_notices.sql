-- One row per seller notice and process that it speaks of, newest first: a message, a call or a letter, and what
-- became of it (docs/rules.md#seller-notices).
-- key: message_id, process_id
-- order: sent_at desc, message_id, process_id
-- by: process_id, seller_id
-- column: message_id | text | the id of the message, shared by the processes that it speaks of
-- column: process_id | the review process
-- column: seller_id | the process's seller
-- column: channel | text | by which the seller was notified
-- column: rung | text | of the schedule; null where a person sent it
-- column: template | text | the text that was sent, with its version
-- column: language | text | in which
-- column: actor | staff | who sent it by hand, or called
-- column: outcome | word | of a call: reached, left_message, no_answer or wrong_number
-- column: promised_for | text | of a call: for when the seller promised to answer
-- column: note | text | of a call or letter: what was said
-- column: sent_at | when it was handed over, the call was made or the letter was posted
-- column: accepted_at | when the service took it; of an e-mail this says nothing of its arrival
-- column: opened_at | when it was opened
-- column: retracted_at | when a person took back a call or letter that was recorded by mistake
-- column: contacted_at | when it was a contact with the seller that still stands; null where it is none
-- column: seq | the entry, the first that counts

select
    fates.message_id,
    fates.process_id,
    processes.seller_id,
    fates.channel,
    fates.rung,
    fates.template,
    fates.language,
    fates.actor,
    fates.outcome,
    fates.promised_for,
    case when is_by_hand(fates.channel) then actions.content ->> '$.note' end as note,
    fates.occurred_at as sent_at,
    fates.accepted_at,
    fates.delivered_at,
    fates.opened_at,
    fates.bounced_at,
    fates.failed_at,
    fates.uncertain_at,
    fates.retracted_at,
    case when withdrawn_at is null then fates.contacted_at end as contacted_at,
    fates.seq
from notice_fates as fates
left join process_facts as processes on processes.process_id = fates.process_id
left join fact_actions as actions on actions.seq = fates.seq
