-- One row per journey or artifact that collections of more than one process name, whenever they
-- occurred: what `evidence_reused` has to look at. Materialized in `kept_subjects`.
-- key: subject
-- column: subject | the journey's id or the artifact's digest

select subject
from (
    select journey_id as subject, process_id from fact_collections
    union all
    select sha256 as subject, process_id from fact_artifacts where sha256 is not null
)
group by subject
having min(process_id) <> max(process_id)
