-- One row per alert that is due and was not raised: what is still to be written down before anybody is
-- told. These are the rows of `alerts` without `raised_at`, found sooner, but for those that became due before
-- the look-back; what the log does not show is raised as it is found.
-- reads: due_alerts, raised_alerts, assignments
-- key: alert_id
-- order: case severity when 'breach' then 1 when 'risk' then 2 else 3 end
-- order: since
-- order: alert_id
-- column: alert_id | ids | its name: one for a process, a rung and a deadline, or for a condition
-- column: kind | text | a rung (opened, overdue, before_..., expired), a rule of `findings`, or another condition (docs/alerts.md#conditions)
-- column: severity | word | breach once expired or for a breach, risk with less than 72 hours left to the deadline and for most conditions, else notice
-- column: role | word | who sees to it: officer or admin
-- column: assignee | staff | who sees to the process; null where nobody is assigned
-- column: process_id | the review process it is about; null where it is about none
-- column: seller_id | the seller under review; null where it is about none
-- column: review_type | word | the type, such as ACP; null for an unknown type, or no process
-- column: state | word | the process's state; null where it is about none
-- column: since | when it became due
-- column: deadline_at | the process's deadline; null where it has none
-- column: seconds_to_deadline | whole seconds left, negative once late; null once finished
-- column: next_action | word | the one thing to do next; null where nothing is left to do about the process
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
