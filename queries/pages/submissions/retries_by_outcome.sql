-- One row per outcome of failed attempts: what the next attempt of the process came to, with the same bytes and with
-- others (docs/rules.md#over-time).
-- open to: analysts
-- key: outcome
-- column: attempts | failed attempts that ended so
-- column: sent_again | those after which the same bytes were sent next, by an attempt that has ended
-- column: accepted_again | of these, those whose next attempt was accepted
-- column: acceptance_again | accepted_again / sent_again; null over nothing
-- column: most_of_one | of sent_again, those of the process that has most of them; 0 without any
-- column: most_of | id | that process, the first by id of several; null without any
-- column: sent_changed | those after which other bytes were sent next, by an attempt that has ended
-- column: accepted_changed | of these, those whose next attempt was accepted
-- column: acceptance_changed | accepted_changed / sent_changed; null over nothing

with followed as (
    select
        process_id,
        outcome,
        ordered_at,
        lead(outcome) over in_order as next_outcome,
        lead(payload_sha256) over in_order = payload_sha256 as is_same,  -- null where the bytes of one are lost
        min(finished_at) filter (where outcome = 'accepted') over (partition by process_id) as accepted_at
    from attempt_facts
    where attempt_number is not null
    window in_order as (partition by process_id order by attempt_number)
),

failed as (
    select
        process_id,
        outcome,
        count(*) as attempts,
        count(*) filter (where is_same and next_outcome <> 'in_flight') as sent_again,
        count(*) filter (where is_same and next_outcome = 'accepted') as accepted_again,
        count(*) filter (where not is_same and next_outcome <> 'in_flight') as sent_changed,
        count(*) filter (where not is_same and next_outcome = 'accepted') as accepted_changed
    from followed
    where outcome not in ('accepted', 'in_flight') and coalesce(ordered_at < accepted_at, true)
    group by process_id, outcome
)

select
    outcome,
    cast(sum(attempts) as bigint) as attempts,
    cast(sum(failed.sent_again) as bigint) as sent_again,
    cast(sum(failed.accepted_again) as bigint) as accepted_again,
    sum(failed.accepted_again) / nullif(sum(failed.sent_again), 0) as acceptance_again,
    max(failed.sent_again) as most_of_one,
    arg_min(process_id, struct_pack(fewer := -failed.sent_again, process_id)) filter (where failed.sent_again > 0)
        as most_of,
    cast(sum(failed.sent_changed) as bigint) as sent_changed,
    cast(sum(failed.accepted_changed) as bigint) as accepted_changed,
    sum(failed.accepted_changed) / nullif(sum(failed.sent_changed), 0) as acceptance_changed
from failed
group by outcome
