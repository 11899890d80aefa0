-- One row per alert that the log makes due (docs/alerts.md#what-is-due). Where the variable `unraised`
-- is set, those that were raised may be left out.
-- key: alert_id
-- column: process_id | the review process it is about; null where it is about none
-- column: seller_id | the seller it is about; null where it is about none
-- column: review_type | word | the type, such as ACP; null for an unknown type, or no process
-- column: state | word | the process's state; null where it is about none
-- column: deadline_at | the process's deadline; null where it has none
-- column: next_action | word | the one thing to do next; null where nothing is left to do about the process

select
    alarms.alert_id,
    kind,
    severity,
    role,
    alarms.process_id,
    coalesce(alarming_states.seller_id, alarms.seller_id) as seller_id,
    review_type,
    state,
    since,
    deadline_at,
    seconds_to_deadline,
    next_action,
    seq
from alarms
left join alarming_states on alarming_states.process_id = alarms.process_id
left join untold_alerts on untold_alerts.alert_id = alarms.alert_id
where case
    when kind = 'ticket_due' then ticket_due
    when is_rung
        then next_action <> 'await_answer'
            and (
                not starts_with(next_action, 'await_')
                or state = 'EXPIRED'
                or is_pending
                or (is_pending is not null and next_action = 'await_seller')
                or seconds_to_deadline < alert_rules().even_while_awaiting * 3600
            )
    else true
end
