-- One row per entry of the log and process that it is about, whenever it occurs. A result or retraction that
-- names no process is about each that its message speaks of (docs/rules.md#seller-notices).
-- key: seq, process_id
-- column: seq | the entry's place in the log
-- column: occurred_at | when it happened on our side
-- column: recorded_at | when the log recorded it
-- column: kind | text | what happened (docs/rules.md#occurrences)
-- column: process_id | the review process it belongs to; null where it is about none
-- column: seller_id | the seller it belongs to; where it names none, whom its message's notice names
-- column: event_id | the platform's id of a delivered event
-- column: event_type | text | its type
-- column: reported_status | text | the status a review event reports
-- column: deadline_at | the deadline a review event carries
-- column: attempt_id | our id of a submission attempt
-- column: message_id | text | of a message, call or letter to a seller: its id, shared by the processes that it speaks of
-- column: journey_id | the collection journey of a seller's step, or to which the link of a message leads
-- column: status | HTTP status of an answer
-- column: error | text | timeout, tls_refused, network_error or refused, where there was no answer; another system's words are masked for everybody, but for those that say what failed
-- column: step | text | step of a collection journey; opened or closed, of a support ticket; how far it came, of an alert; requested, approved or refused, of what needs a second person; what became of a seller notice, or of its schedule
-- column: channel | text | channel of a collection journey, of a seller notice or of an alert
-- column: about | text | what an alert is about: a rung of the ladder or a condition, where the step says it; the act that needs a second person; what came of a call to a seller
-- column: promised_for | text | of a call: for when the seller promised to answer
-- column: recipient | staff | who is told, for an alert; empty where there is nobody to tell
-- column: source | text | who gave the data of a collection
-- column: actor | staff | who did it, for what people did
-- column: assignee | staff | to whom an assignment gives a process
-- column: reason | text | why, for what people did; what is wrong, for a quarantined delivery; why a channel did not take an alert
-- column: note | text | of a call or letter: what was said
-- column: is_again | recorded before under the same id
-- column: origin | word | live, or ingested from a file
-- column: recorded_by | staff | token, command's user or file that recorded it
-- column: leaf_hash | digest | the entry's leaf in the Merkle tree, hex
-- column: shown_from | from when on it is known of the process
-- column: shown_until | until when it is known of no process; null of all other rows

select
    log.seq,
    log.occurred_at,
    log.recorded_at,
    log.kind,
    coalesce(log.process_id, reports.process_id) as process_id,
    coalesce(log.seller_id, reports.seller_id) as seller_id,
    log.event_id,
    webhooks.event_type,
    reviews.status as reported_status,
    reviews.deadline_at,
    log.attempt_id,
    coalesce(notices.message_id, results.message_id) as message_id,
    coalesce(
        fact_collections.journey_id,
        case when log.kind = 'seller_notice' then actions.content ->> '$.journey_id' end
    ) as journey_id,
    log.status,
    mask_error(finishes.error) as error,
    coalesce(fact_collections.step, actions.step) as step,
    coalesce(fact_collections.channel, notices.channel, actions.content ->> '$.channel', alerts.via) as channel,
    coalesce(
        alerts.about,
        notices.outcome,
        case when log.kind = 'clearance' then actions.content ->> '$.act' end
    ) as about,
    notices.promised_for,
    alerts.recipient,
    fact_collections.source,
    actions.actor,
    case when log.kind = 'assignment' then actions.content ->> '$.assignee' end as assignee,
    coalesce(actions.reason, quarantined.reason, alerts.answer) as reason,
    case when is_by_hand(notices.channel) then actions.content ->> '$.note' end as note,
    log.is_again,
    log.origin,
    log.recorded_by,
    sha256('\x00'::blob || log.leaf) as leaf_hash,
    coalesce(reports.shown_from, log.occurred_at) as shown_from,
    reports.shown_until
from log
left join fact_webhooks as webhooks on webhooks.seq = log.seq
left join fact_reviews as reviews on reviews.seq = log.seq
left join fact_attempt_finishes as finishes on finishes.seq = log.seq
left join fact_collections on fact_collections.seq = log.seq
left join fact_quarantined as quarantined on quarantined.seq = log.seq
left join fact_actions as actions on actions.seq = log.seq
left join (
    select
        seq,
        content ->> '$.about' as about,
        content ->> '$.to' as recipient,
        content ->> '$.via' as via,
        content ->> '$.answer' as answer
    from fact_actions as actions
    where kind = 'alert'
) alerts on alerts.seq = log.seq
left join fact_notices as notices on notices.seq = log.seq
left join fact_notice_results as results on results.seq = log.seq
left join message_reports as reports on reports.seq = log.seq
