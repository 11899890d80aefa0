-- One row per alert that is due and was not raised: what is still to be written down before anybody is
-- told. These are the rows of `alerts` without `raised_at`, found sooner, but for those that became due before
-- the look-back; what the log does not show is raised as it is found.
-- key: alert_id
-- order: case severity when 'breach' then 1 when 'risk' then 2 else 3 end, since, alert_id
-- column: process_id | the review process it is about; null where it is about none
-- column: seq | an entry that shows what it is about

select
    alert_id,
    kind,
    severity,
    role,
    assignee,
    due_alerts.process_id,
    seller_id,
    review_type,
    state,
    since,
    deadline_at,
    seconds_to_deadline,
    next_action,
    due_alerts.seq
from due_alerts
anti join raised_alerts using (alert_id)
left join assignments on assignments.process_id = due_alerts.process_id
