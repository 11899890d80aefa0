-- One row per change that an officer wants to hear of, what needs somebody first, then the newest: a process that
-- came, became overdue, expired or was finished, a denial, a finding, an alert. Filtered by `changed_at`, it says
-- what changed since an instant, as it is known at as_of.
-- key: change, subject
-- order: change_order(change), changed_at desc, change, subject
-- column: change | word | opened, overdue, expired, finished, denied, finding or alert
-- column: changed_at | when we came to know of it, by an event or as the clock struck; when it became true, for a finding
-- column: subject | text | what tells it from other changes of its kind
-- column: process_id | the review process it is about; null where it is about none
-- column: seller_id | the seller it is about; null where it is about none
-- column: review_type | word | the process's type, such as ACP; null for an unknown type, or no process
-- column: code | text | the broken rule of a finding, or what an alert is about; null for others
-- column: reasons | text | of a denial, the sorted distinct list of {reason, detail}; null for others
-- column: severity | word | of a finding or an alert; null for others

with processes as (
    select
        process_id,
        seller_id,
        review_type,
        unnest([
            struct_pack(change := 'opened', changed_at := first_received_at),
            -- One that is overdue from its opening on is news enough by that.
            struct_pack(change := 'overdue', changed_at := case
                when overdue_found_at > opened_at and overdue_known_at <= as_of()
                    and overdue_known_at < expired_known_at
                    and overdue_found_at < coalesce(finished_at, timestamp 'infinity')
                then overdue_known_at
            end),
            struct_pack(change := 'expired', changed_at := case
                when expired_known_at <= as_of()
                    and expired_found_at < coalesce(finished_at, timestamp 'infinity')
                then expired_known_at
            end),
            struct_pack(change := 'finished', changed_at := finished_known_at)
        ], recursive := true)
    from process_facts
),

changed as (
    select
        change,
        changed_at,
        process_id as subject,
        process_id,
        seller_id,
        review_type,
        cast(null as varchar) as code,
        reason_pairs(null) as reasons,
        cast(null as varchar) as severity
    from processes
    where changed_at is not null
    union all
    select
        'denied' as change,
        occurred_at as changed_at,
        event_id as subject,
        cast(null as varchar) as process_id,
        seller_id,
        cast(null as varchar) as review_type,
        cast(null as varchar) as code,
        reason_pairs(reasons) as reasons,
        cast(null as varchar) as severity
    from seller_events
    where event_type = 'seller.denied'
    union all
    select
        'finding' as change,
        found_at as changed_at,
        concat_ws(' ', rule, seq, process_id, detail) as subject,
        process_id,
        seller_id,
        cast(null as varchar) as review_type,
        rule as code,
        reason_pairs(null) as reasons,
        severity
    from findings
    union all
    select
        'alert' as change,
        step_at as changed_at,
        alert_id as subject,
        process_id,
        seller_id,
        cast(null as varchar) as review_type,
        kind as code,
        reason_pairs(null) as reasons,
        severity
    from alert_steps
    where step = 'raised'
    qualify row_number() over (partition by alert_id order by seq) = 1
)

select
    changed.*,
    assignments.assignee
from changed
left join assignments on assignments.process_id = changed.process_id
