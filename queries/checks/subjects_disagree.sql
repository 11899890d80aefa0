-- One row per journey or artifact that collections name, and that the materialized rows lack, have
-- too many, or put to another process: which evidence serves two processes is looked for by these.
-- key: subject
-- column: subject | the journey's id or the artifact's digest
-- column: found | its process, and whether another one has it, as the materialized rows say it
-- column: expected | as the collections say it

with named as (
    select journey_id as subject, process_id from fact_collections
    union all
    select sha256, process_id from fact_artifacts where sha256 is not null
),

expected as (
    select
        subject,
        min(process_id) as process_id,
        min(process_id) <> max(process_id) as is_shared
    from named
    group by subject
)

select
    subject,
    concat_ws(' ', stored.process_id, stored.is_shared) as found,
    concat_ws(' ', expected.process_id, expected.is_shared) as expected
from kept_subjects as stored
full join expected using (subject)
where (
        stored.process_id is distinct from expected.process_id
        or stored.is_shared is distinct from expected.is_shared
    )
    and (select materialized_entries = entries from kept_watermark)
