-- One row per entry that does not have exactly one row in the facts of its kind, and per fact that has
-- no entry of its kind: facts follow from the entries alone, one by one.
-- key: seq, kind
-- column: seq | the entry
-- column: kind | of the entry, or that the fact is of
-- column: entries | entries of that seq and kind: 1
-- column: facts | rows of its facts: 1

with recorded as (
    select
        seq,
        case
            when kind in (
                'webhook', 'quarantine', 'rejection', 'submission_started', 'submission_finished',
                'collection'
            ) then kind
            else 'action'
        end as kind
    from log
),

read as (
    select seq, 'webhook' as kind from fact_webhooks
    union all
    select seq, 'quarantine' as kind from fact_quarantined
    union all
    select seq, 'rejection' as kind from fact_rejections
    union all
    select seq, 'submission_started' as kind from fact_attempt_starts
    union all
    select seq, 'submission_finished' as kind from fact_attempt_finishes
    union all
    select seq, 'collection' as kind from fact_collections
    union all
    select seq, 'action' as kind from fact_actions
),

counted as (
    select seq, kind, count(*) filter (where is_entry) as entries,
        count(*) filter (where not is_entry) as facts
    from (
        select seq, kind, true as is_entry from recorded
        union all
        select seq, kind, false as is_entry from read
    )
    group by seq, kind
)

select seq, kind, entries, facts
from counted
where entries <> 1 or facts <> 1
