-- One row per accepted submission every leaf of which had been sent before for the same seller in one
-- submission of another process: values_reused. Data must be collected anew each time.
-- reads: sent_leaves, attempts
-- key: detail
-- column: rule | the broken rule (rules.md section 6)
-- column: severity | breach, risk or notice
-- column: process_id | the process it is about; null where it is about none
-- column: seller_id | the seller it is about, where the rule knows; `findings` adds the process's
-- column: seq | the entry that shows it
-- column: detail | what exactly; empty where the rule says it all
-- column: found_at | when it became true

with accepted as (
    select attempt_id, finished_at
    from attempts
    where outcome = 'accepted'
),

sizes as (
    select attempt_id, count(*) as leaves
    from sent_leaves
    group by attempt_id
),

matches as (
    select
        later.attempt_id,
        any_value(later.process_id) as process_id,
        any_value(later.start_seq) as seq,
        count(*) as leaves
    from sent_leaves as later
    semi join accepted on accepted.attempt_id = later.attempt_id
    join sent_leaves as earlier
        on earlier.seller_id = later.seller_id
        and earlier.path = later.path
        and earlier.value_key = later.value_key
        and earlier.process_id <> later.process_id
        and earlier.started_at < later.started_at
    group by later.attempt_id, earlier.attempt_id
)

select
    'values_reused' as rule,
    'risk' as severity,
    matches.process_id,
    null as seller_id,
    matches.seq,
    matches.attempt_id as detail,
    accepted.finished_at as found_at
from matches
join accepted on accepted.attempt_id = matches.attempt_id
join sizes on sizes.attempt_id = matches.attempt_id and sizes.leaves = matches.leaves
group by matches.process_id, matches.seq, matches.attempt_id, accepted.finished_at
