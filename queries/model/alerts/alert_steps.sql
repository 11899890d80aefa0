-- One row per step of an alert that was recorded, and that nobody took back (docs/alerts.md#what-is-recorded).
-- key: seq
-- column: seq | its entry
-- column: alert_id | ids | the alert's name: one for a process, a rung and a deadline, or for a condition
-- column: step | raised, tried, sent, failed, undelivered, cleared, acknowledged, snoozed or taken_back
-- column: step_at | when it was taken
-- column: kind | the kind of the alert, where the step says it
-- column: severity | of the alert, where the step says it
-- column: role | of the alert, where the step says it
-- column: since | when the alert became due, where the step says it
-- column: process_id | the review process it is about; null where it is about none
-- column: seller_id | the seller it is about; null where it is about none
-- column: recipient | who is told; null for a step that tells nobody, empty where there is nobody
-- column: via | the channel, by its name in the settings
-- column: level | 0, or how often it had been escalated
-- column: attempt_n | the number of the try, from 1
-- column: answer | why a channel did not take it
-- column: may_have_it | of a try that failed: the channel may have taken it all the same
-- column: actor | who acknowledged it or put it off
-- column: reason | why
-- column: until | until when it is put off

select
    seq,
    content ->> '$.alert' as alert_id,
    step,
    occurred_at as step_at,
    content ->> '$.about' as kind,
    content ->> '$.severity' as severity,
    content ->> '$.role' as role,
    try_cast(content ->> '$.since' as timestamp) as since,
    process_id,
    seller_id,
    content ->> '$.to' as recipient,
    content ->> '$.via' as via,
    try_cast(content ->> '$.level' as integer) as level,
    try_cast(content ->> '$.try' as integer) as attempt_n,
    content ->> '$.answer' as answer,
    coalesce(content ->> '$.may_have_it' = 'true', false) as may_have_it,
    actor,
    reason,
    try_cast(content ->> '$.until' as timestamp) as until
from fact_actions
where kind = 'alert'
    and occurred_at <= as_of()
    and not (
        step in ('acknowledged', 'snoozed')
        and exists (
            from fact_actions as later
            where later.kind = 'alert'
                and later.step = 'taken_back'
                and later.occurred_at <= as_of()
                and later.content ->> '$.alert' = fact_actions.content ->> '$.alert'
                and later.content ->> '$.of' = fact_actions.step
                and try_cast(later.content ->> '$.at' as timestamp) = fact_actions.occurred_at
        )
    )
