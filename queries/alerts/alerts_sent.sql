-- One row per alert, recipient, channel and level of escalation: who was told of what, when, and what the channel
-- answered (docs/alerts.md#what-is-recorded).
-- reads: alert_steps
-- key: alert_id, recipient, via, level
-- order: first_tried_at desc
-- order: alert_id
-- order: recipient
-- order: via
-- order: level
-- column: alert_id | the alert
-- column: kind | what it is about, as in `alerts`
-- column: process_id | the review process; null where it is about none
-- column: seller_id | the seller; null where it is about none
-- column: recipient | who is told, by the name in the settings; empty where there is nobody to tell
-- column: via | email, webhook or apprise; empty where there is nobody to tell
-- column: level | 0, or how often it had been escalated
-- column: raised_at | when the alert was raised
-- column: tries | how often a message was sent off
-- column: first_tried_at | when the first was
-- column: sent_at | when the channel took one; null until then
-- column: undelivered_at | when it was given up; null where it was not
-- column: answer | why the channel did not take the last one; null once one was taken
-- column: may_be_doubled | whether another message may have arrived as well: the end of a try is not known, the channel kept silent about one, or took two, between which nobody put the alert off

with raised as (
    select alert_id, min(step_at) as raised_at, arg_min(kind, step_at) as kind
    from alert_steps
    where step = 'raised'
    group by alert_id
),

told as (
    select
        alert_id,
        recipient,
        via,
        level,
        any_value(process_id) as process_id,
        any_value(seller_id) as seller_id,
        count(*) filter (step = 'tried') as tries,
        count(*) filter (step in ('sent', 'failed')) as answers,
        min(step_at) as first_tried_at,
        min(step_at) filter (step = 'sent') as sent_at,
        max(step_at) filter (step = 'sent') as last_sent_at,
        count(*) filter (step = 'sent') as messages,
        min(step_at) filter (step = 'undelivered') as undelivered_at,
        coalesce(bool_or(may_have_it), false) as may_have_one,
        arg_max(answer, seq) filter (step in ('failed', 'undelivered')) as last_answer
    from alert_steps
    where recipient is not null
    group by alert_id, recipient, via, level
),

put_off as (
    -- What is put off is sent again.
    select told.alert_id, recipient, via, level, count(*) as snoozes
    from told
    join (select alert_id, step_at from alert_steps where step = 'snoozed') as steps
        on steps.alert_id = told.alert_id
        and steps.step_at between sent_at and last_sent_at
    where messages > 1
    group by told.alert_id, recipient, via, level
)

select
    told.alert_id,
    kind,
    process_id,
    seller_id,
    recipient,
    via,
    level,
    raised_at,
    tries,
    first_tried_at,
    sent_at,
    undelivered_at,
    if(sent_at is null, last_answer, null) as answer,
    sent_at is not null
        and (
            tries > answers
            or may_have_one
            or messages > 1 + coalesce(snoozes, 0)
        ) as may_be_doubled
from told
left join put_off using (alert_id, recipient, via, level)
left join raised on raised.alert_id = told.alert_id
