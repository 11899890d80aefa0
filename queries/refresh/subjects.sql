-- Adds the journeys and artifacts of collections after `after`; one that a second process names is
-- shared from then on.
insert into materialized.subjects by name
select
    subject,
    min(process_id) <> max(process_id) as is_shared,
    min(process_id) as process_id
from (
    select journey_id as subject, process_id
    from facts.collections
    where seq > getvariable('after')
    union all
    select sha256 as subject, process_id
    from facts.artifacts
    where seq > getvariable('after') and sha256 is not null
)
group by subject
on conflict (subject) do update set
    process_id = least(subjects.process_id, excluded.process_id),
    is_shared = subjects.is_shared or excluded.is_shared
        or subjects.process_id <> excluded.process_id
