-- One row per process whose events contradict the clock, its finish or each other:
-- status_disagrees, open_after_finish and identity_changed.
-- reads: process_state, review_events
-- key: rule, process_id
-- column: rule | the broken rule (rules.md section 6)
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about, where the rule knows; `findings` adds the process's
-- column: seq | the entry that shows it
-- column: detail | what exactly; empty where the rule says it all
-- column: found_at | when it became true

with events as (
    select *, struct_pack(created_at, occurred_at, event_id) as place
    from review_events
),

suspects as (
    select *
    from process_state
    where status_disagrees or open_after_finish or identity_changed
),

openings as (
    select
        process_id,
        arg_min(struct_pack(object_type, seller_id), place) as identity
    from events
    semi join suspects using (process_id)
    group by process_id
),

shown as (
    select
        suspects.process_id,
        any_value(suspects.seller_id) as seller_id,
        any_value(suspects.status_disagrees) as status_disagrees,
        max(struct_pack(place, seq)) as latest,
        min(struct_pack(place, seq)) filter (
            where events.created_at > suspects.finished_at
                and events.status in ('PENDING', 'OVERDUE', 'EXPIRED')
        ) as reopening,
        min(struct_pack(place, seq)) filter (
            where events.object_type <> openings.identity.object_type
                or events.seller_id <> openings.identity.seller_id
        ) as other_identity
    from suspects
    join events on events.process_id = suspects.process_id
    join openings on openings.process_id = suspects.process_id
    group by suspects.process_id
)

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
