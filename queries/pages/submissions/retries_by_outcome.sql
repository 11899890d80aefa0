-- One row per outcome of failed attempts: what the next attempt of the process came to, with the same bytes and with
-- others (docs/rules.md#over-time).
-- open to: analysts
-- key: outcome
-- column: attempts | failed attempts that ended so
-- column: sent_again | those after which the same bytes were sent next, by an attempt that has ended
-- column: accepted_again | of these, those whose next attempt was accepted
-- column: acceptance_again | accepted_again / sent_again; null over nothing
-- column: sent_changed | those after which other bytes were sent next, by an attempt that has ended
-- column: accepted_changed | of these, those whose next attempt was accepted
-- column: acceptance_changed | accepted_changed / sent_changed; null over nothing

with followed as (
    select
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
        outcome,
        is_same,
        next_outcome <> 'in_flight' as is_followed,
        next_outcome = 'accepted' as is_accepted
    from followed
    where outcome not in ('accepted', 'in_flight') and coalesce(ordered_at < accepted_at, true)
)

select
    outcome,
    count(*) as attempts,
    count(*) filter (where is_same and is_followed) as sent_again,
    count(*) filter (where is_same and is_accepted) as accepted_again,
    count(*) filter (where is_same and is_accepted) / nullif(count(*) filter (where is_same and is_followed), 0)
        as acceptance_again,
    count(*) filter (where not is_same and is_followed) as sent_changed,
    count(*) filter (where not is_same and is_accepted) as accepted_changed,
    count(*) filter (where not is_same and is_accepted)
        / nullif(count(*) filter (where not is_same and is_followed), 0) as acceptance_changed
from failed
group by outcome
