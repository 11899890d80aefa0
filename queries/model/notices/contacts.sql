-- One row per contact with the seller of a review process, by as_of: a message that arrived, a call that
-- reached them, a letter, or a step of theirs (docs/rules.md#seller-notices). One that was withdrawn was a
-- contact until then.
-- key: process_id, seq
-- column: contacted_at | when
-- column: channel | by which
-- column: message_id | of the message, call or letter; null for a step of the seller's
-- column: contacted_by | who called, posted or sent it by hand; null for the schedule, the seller, another system
-- column: withdrawn_at | from when on it is none; null while it stands
-- column: seq | the entry that makes it one
-- column: recorded_at | when that was recorded
-- column: is_recorded_late | of a message, call or letter: that was more than 24 hours after it happened, and no file brought it

select
    process_id,
    contacted_at,
    channel,
    message_id,
    actor as contacted_by,
    withdrawn_at,
    contact_seq as seq,
    contact_recorded_at as recorded_at,
    is_recorded_late
from notice_fates
where contacted_at is not null
union all
-- Making a link of ours, which expires, invites nobody.
select
    process_id,
    occurred_at as contacted_at,
    channel,
    null as message_id,
    null as contacted_by,
    null as withdrawn_at,
    seq,
    recorded_at,
    false as is_recorded_late
from fact_collections
where occurred_at <= as_of()
    and case
        when step = 'invited' then not is_link
        else source = 'seller'
    end
