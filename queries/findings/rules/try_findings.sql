-- One row per attempt after which its try was given up (retries_exhausted), or that sent other bytes
-- although the attempt before was to be repeated (payload_changed_on_retry).
-- reads: tries, attempts, interventions
-- key: rule, seq
-- column: rule | the broken rule (rules.md section 6)
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about, where the rule knows; `findings` adds the process's
-- column: seq | the entry that shows it
-- column: detail | what exactly; empty where the rule says it all
-- column: found_at | when it became true

with exhausted as (
    select process_id, try_number, arg_min(attempt_id, attempt_number) as attempt_id
    from tries
    where is_given_up
    group by process_id, try_number
),

changed as (
    select
        attempts.process_id,
        attempts.attempt_id,
        attempts.started_at,
        attempts.start_seq,
        previous.started_at as previous_started_at
    from tries
    join attempts on attempts.attempt_id = tries.attempt_id
    join attempts as previous on previous.attempt_id = tries.previous_attempt_id
    where attempts.payload_sha256 <> previous.payload_sha256
        -- What the outcome was when the other payload was sent: an answer may have come later.
        and case
            when previous.finished_at <= attempts.started_at then previous.is_retryable
            else previous.timeout_at <= attempts.started_at
        end
)

select
    'retries_exhausted' as rule,
    'risk' as severity,
    attempts.process_id,
    null as seller_id,
    coalesce(attempts.finish_seq, attempts.start_seq) as seq,
    attempts.attempt_id as detail,
    tries.gives_up_at as found_at
from exhausted
join tries on tries.attempt_id = exhausted.attempt_id
join attempts on attempts.attempt_id = exhausted.attempt_id
union all
select
    'payload_changed_on_retry' as rule,
    'risk' as severity,
    changed.process_id,
    null as seller_id,
    changed.start_seq as seq,
    changed.attempt_id as detail,
    changed.started_at as found_at
from changed
anti join interventions
    on interventions.process_id = changed.process_id
    and interventions.kind = 'replacement'
    and interventions.occurred_at between changed.previous_started_at and changed.started_at
