-- One row per message to a seller and process that it speaks of: what became of it by as_of, and whether it
-- reached the seller (docs/rules.md#seller-notices). What withdraws it stands for good, whatever comes after.
-- key: message_id, process_id
-- column: message_id | the id of the message, shared by the processes that it speaks of
-- column: process_id | the platform's id of the review process
-- column: occurred_at | when it was handed over; of a call, when it was made; of a letter, when it was posted
-- column: accepted_at | when the service took it; null where nothing says so
-- column: delivered_at | when it was delivered
-- column: opened_at | when it was opened
-- column: bounced_at | when it came back
-- column: failed_at | when sending it failed for good
-- column: is_refused | the service will never take it
-- column: uncertain_at | when we lost sight of whether it went out
-- column: retracted_at | when a person took back a call or letter
-- column: contacted_at | when it was a contact with the seller, withdrawn or not; null where it was none
-- column: contact_seq | the entry that makes it one
-- column: contact_recorded_at | when that was recorded
-- column: is_recorded_late | that was more than 24 hours after it happened, and no file brought it
-- column: withdrawn_at | from when on it is a contact no more

with said as (
    select
        notices.message_id,
        notices.process_id,
        min(results.occurred_at) filter (where result = 'accepted') as accepted_at,
        min(results.occurred_at) filter (where result = 'delivered') as delivered_at,
        min(results.occurred_at) filter (where result = 'opened') as opened_at,
        min(results.occurred_at) filter (where result = 'bounced') as bounced_at,
        min(results.occurred_at) filter (where result = 'failed') as failed_at,
        bool_or(results.is_refused) filter (where result = 'failed') as is_refused,
        min(results.occurred_at) filter (where result = 'uncertain') as uncertain_at,
        min(results.occurred_at) filter (where result = 'retracted' and is_by_hand(channel))
            as retracted_at,
        arg_min(
            struct_pack(
                seq := results.seq,
                recorded_at := results.recorded_at,
                origin := results.origin
            ),
            struct_pack(results.occurred_at, results.content_sha256, results.seq)
        ) filter (where result in ('accepted', 'delivered', 'opened')) as first_one
    from counted_notices as notices
    join counted_notice_results as results
        on results.message_id = notices.message_id
            and (results.process_id is null or results.process_id = notices.process_id)
    group by notices.message_id, notices.process_id
)

select
    notices.*,
    accepted_at,
    delivered_at,
    opened_at,
    bounced_at,
    failed_at,
    coalesce(is_refused, false) as is_refused,
    uncertain_at,
    retracted_at,
    case
        when not is_by_hand(channel) then least(accepted_at, delivered_at, opened_at)
        when channel = 'letter' or outcome = 'reached' then notices.occurred_at
    end as contacted_at,
    case when is_by_hand(channel) then notices.seq else first_one.seq end as contact_seq,
    case when is_by_hand(channel) then notices.recorded_at else first_one.recorded_at end
        as contact_recorded_at,
    contact_recorded_at > contacted_at + interval 24 hour
        and if(is_by_hand(channel), notices.origin, first_one.origin) = 'live' as is_recorded_late,
    least(bounced_at, failed_at, retracted_at) as withdrawn_at
from counted_notices as notices
left join said
    on said.message_id = notices.message_id and said.process_id = notices.process_id
