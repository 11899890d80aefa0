-- One row per alert, recipient, channel and level of escalation: who was told of what, when, and what the channel
-- answered (docs/alerts.md#what-is-recorded).
-- key: alert_id, recipient, via, level
-- order: first_tried_at desc, alert_id, recipient, via, level
-- column: kind | text | a rung (opened, overdue, before_..., expired), a rule of `findings`, or another condition (docs/alerts.md#conditions)
-- column: recipient | staff | who is told, by the name in the settings; empty where there is nobody to tell
-- column: via | text | the channel, such as email, webhook or apprise; empty where there is nobody to tell
-- column: raised_at | when the alert was raised
-- column: tries | how often a message was sent off
-- column: first_tried_at | when the first was
-- column: sent_at | when the channel took one; null until then
-- column: undelivered_at | when it was given up; null where it was not
-- column: answer | text | why the channel did not take the last one; null once one was taken
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
        min(step_at) filter (step = 'undelivered') as undelivered_at,
        coalesce(bool_or(may_have_it), false) as may_have_one,
        arg_max(answer, seq) filter (step in ('failed', 'undelivered')) as last_answer
    from alert_steps
    where recipient is not null
    group by alert_id, recipient, via, level
),

messages as (
    select
        alert_id,
        recipient,
        via,
        level,
        step_at,
        lag(step_at) over (partition by alert_id, recipient, via, level order by step_at, seq)
            as step_before
    from alert_steps
    where step = 'sent'
),

doubled as (
    -- What is put off is sent again, however often it was put off meanwhile.
    select distinct alert_id, recipient, via, level
    from messages
    anti join (select alert_id, step_at as snoozed_at from alert_steps where step = 'snoozed') as snoozes
        on snoozes.alert_id = messages.alert_id
        and snoozed_at between step_before and step_at
    where step_before is not null
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
            or doubled.alert_id is not null
        ) as may_be_doubled
from told
left join doubled using (alert_id, recipient, via, level)
left join raised on raised.alert_id = told.alert_id
