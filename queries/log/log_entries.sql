-- One row per entry of the log, in order: what its leaf says, and what was read out of its body.
-- key: seq
-- order: log.seq
-- column: seq | the entry's place in the log
-- column: kind | text | what happened (docs/rules.md#occurrences)
-- column: occurred_at | when it happened on our side
-- column: recorded_at | when the log recorded it
-- column: origin | word | live, or ingested from a file
-- column: recorded_by | staff | token, command's user or file that recorded it
-- column: event_id | the platform's id of a delivered event
-- column: attempt_id | our id of a submission attempt
-- column: process_id | the review process it belongs to
-- column: seller_id | the seller it belongs to
-- column: status | HTTP status of an answer
-- column: process_n | its number in the process's stream
-- column: process_prev | seq of the entry before it there
-- column: seller_n | its number in the seller's stream
-- column: seller_prev | seq of the entry before it there
-- column: body_size | bytes of the body; null where there is none
-- column: body | text | `disclosed`, `erased` or `withheld`; null where there is none
-- column: event_type | text | type of a delivered event
-- column: reported_status | text | the status a review event reports
-- column: deadline_at | the deadline a review event carries
-- column: requested_fields | text | the paths a review event asks for
-- column: via | text | how a submission attempt came in
-- column: error | text | timeout, tls_refused, network_error or refused, where there was no answer; in words of another system masked, but for those that say what failed
-- column: journey_id | the collection journey
-- column: step | text | its step; opened or closed, of a support ticket; how far it came, of an alert
-- column: channel | text | its channel, or that of a reminder or of an alert
-- column: about | text | what an alert is about: a rung of the ladder or a condition, where the step says it
-- column: recipient | staff | who is told, for an alert; empty where there is nobody to tell
-- column: source | text | who gave the data
-- column: actor | staff | who did it: the seller's person, or ours; personal, masked
-- column: fields | text | the paths of the fields that were answered or sent, sorted
-- column: artifacts | screens, flows and logs kept with a collection: how many
-- column: reason | text | why, for what people did; what is wrong, for what was turned away; why a channel did not take an alert
-- column: message_id | text | the message to a seller, call or letter that it is, or that it is about
-- column: leaf_hash | digest | the entry's leaf in the Merkle tree, hex

with paths as (
    select seq, path from fact_sent_fields
    union all
    select seq, path from fact_answered_fields
),

named as (
    select seq, list_sort(list(path)) as fields
    from paths
    group by seq
),

collected as (
    select seq, count(*) as artifacts
    from fact_artifacts
    group by seq
),

leaves as (
    select
        seq,
        cast(json_extract_string(decode(leaf), '$.body_size') as bigint) as body_size,
        sha256('\x00'::blob || leaf) as leaf_hash
    from log
)

select
    log.seq,
    log.kind,
    log.occurred_at,
    log.recorded_at,
    log.origin,
    log.recorded_by,
    log.event_id,
    log.attempt_id,
    log.process_id,
    log.seller_id,
    log.status,
    log.process_n,
    log.process_prev,
    log.seller_n,
    log.seller_prev,
    leaves.body_size,
    case
        when holds_remains(log.body, log.salt, log.record) then 'erased'
        when log.body is not null then 'disclosed'
        when leaves.body_size is not null then 'withheld'
    end as body,
    webhooks.event_type,
    reviews.status as reported_status,
    reviews.deadline_at,
    reviews.requested_fields,
    starts.via,
    personal(finishes.error, mask_error(finishes.error)) as error,
    fact_collections.journey_id,
    coalesce(fact_collections.step, actions.step) as step,
    coalesce(fact_collections.channel, notices.channel, actions.content ->> '$.channel', alerts.via) as channel,
    alerts.about,
    alerts.recipient,
    fact_collections.source,
    coalesce(personal(fact_collections.actor, mask_text(fact_collections.actor)), actions.actor) as actor,
    named.fields,
    collected.artifacts,
    coalesce(actions.reason, quarantined.reason, rejections.reason, alerts.answer) as reason,
    coalesce(notices.message_id, results.message_id) as message_id,
    leaves.leaf_hash
from log
join leaves on leaves.seq = log.seq
left join fact_webhooks as webhooks on webhooks.seq = log.seq
left join fact_reviews as reviews on reviews.seq = log.seq
left join fact_attempt_starts as starts on starts.seq = log.seq
left join fact_attempt_finishes as finishes on finishes.seq = log.seq
left join fact_collections on fact_collections.seq = log.seq
left join fact_quarantined as quarantined on quarantined.seq = log.seq
left join fact_rejections as rejections on rejections.seq = log.seq
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
left join named on named.seq = log.seq
left join collected on collected.seq = log.seq
