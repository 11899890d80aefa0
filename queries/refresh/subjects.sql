-- Adds the journeys and artifacts of collections after `after`; one that a second process names is
-- shared from then on.
insert into kept_subjects by name
select
    subject,
    min(process_id) <> max(process_id) as is_shared,
    min(process_id) as process_id
from (
    select journey_id as subject, process_id
    from fact_collections
    where seq > getvariable('after')
    union all
    select sha256 as subject, process_id
    from fact_artifacts
    where seq > getvariable('after') and sha256 is not null
)
group by subject
on conflict (subject) do update set
    process_id = least(kept_subjects.process_id, excluded.process_id),
    is_shared = kept_subjects.is_shared or excluded.is_shared
        or kept_subjects.process_id <> excluded.process_id
