-- One row per process whose events contradict the contract, the log or each other: deadline_mismatch,
-- deadline_changed, status_disagrees, open_after_finish and identity_changed.
-- in: process_findings
-- key: rule, process_id
--
-- rule: open_after_finish
-- place: 160
-- severity: risk
-- name: Reported open after it finished
-- means: The platform may not have taken the submission.
-- remedy: Ask the platform for the status of the process.
--
-- rule: status_disagrees
-- place: 170
-- severity: risk
-- name: Reported status disagrees with the deadline
-- means: The deadline that we work with may not be the platform's.
-- remedy: Compare the deadline with the platform.
--
-- rule: deadline_mismatch
-- place: 180
-- severity: risk
-- name: Deadline differs from the contract
-- means: The deadline may be wrong: an ACP has 60 days, an ACI 30.
-- remedy: Compare the deadline with the platform.
--
-- rule: deadline_changed
-- place: 190
-- severity: risk
-- name: Deadline changed
-- means: The events of the process disagree; the latest one counts.
-- remedy: Plan by the deadline of the latest event.
--
-- rule: identity_changed
-- place: 200
-- severity: risk
-- name: Review type or seller changed
-- means: Data can be collected from the wrong seller, or too little of it.
-- remedy: Ask the platform which event holds.

with events as (
    select *, struct_pack(created_at, occurred_at, event_id, content_sha256) as place
    from review_events
),

suspects as (
    from suspected_processes where is_contradicted
),

openings as (
    -- The first readable value of each: what is absent disagrees with nothing.
    select
        process_id,
        arg_min(object_type, place) as object_type,
        arg_min(seller_id, place) as seller_id,
        arg_min(deadline_at, place) as deadline_at
    from events
    semi join suspects using (process_id)
    group by process_id
),

shown as (
    select
        suspects.process_id,
        any_value(suspects.seller_id) as seller_id,
        any_value(suspects.deadline_mismatch) as deadline_mismatch,
        any_value(suspects.status_disagrees) as status_disagrees,
        max(struct_pack(place, seq)) as latest,
        min(struct_pack(place, seq)) filter (where events.deadline_at = suspects.deadline_at)
            as deadline,
        min(struct_pack(place, seq)) filter (where events.deadline_at <> openings.deadline_at)
            as other_deadline,
        min(struct_pack(place, seq)) filter (
            where events.created_at > suspects.finished_at
                and events.status in ('PENDING', 'OVERDUE', 'EXPIRED')
        ) as reopening,
        min(struct_pack(place, seq)) filter (
            where events.object_type <> openings.object_type
                or events.seller_id <> openings.seller_id
        ) as other_identity
    from suspects
    join events on events.process_id = suspects.process_id
    join openings on openings.process_id = suspects.process_id
    group by suspects.process_id
)

select
    'deadline_mismatch' as rule,
    'risk' as severity,
    process_id,
    seller_id,
    deadline.seq as seq,
    '' as detail,
    deadline.place.created_at as found_at
from shown
where deadline_mismatch
union all
select
    'deadline_changed' as rule,
    'risk' as severity,
    process_id,
    seller_id,
    other_deadline.seq as seq,
    '' as detail,
    other_deadline.place.created_at as found_at
from shown
where other_deadline is not null
union all
select
    'status_disagrees' as rule,
    'risk' as severity,
    process_id,
    seller_id,
    latest.seq as seq,
    '' as detail,
    latest.place.created_at as found_at
from shown
where status_disagrees
union all
select
    'open_after_finish' as rule,
    'risk' as severity,
    process_id,
    seller_id,
    reopening.seq as seq,
    '' as detail,
    reopening.place.created_at as found_at
from shown
where reopening is not null
union all
select
    'identity_changed' as rule,
    'risk' as severity,
    process_id,
    seller_id,
    other_identity.seq as seq,
    '' as detail,
    other_identity.place.created_at as found_at
from shown
where other_identity is not null
