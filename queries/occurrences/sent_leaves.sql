-- One row per leaf that an attempt sent and a seller has to answer for, with the answers there were
-- at the attempt's start.
-- reads: payload_leaves, answers, process_facts
-- key: attempt_id, path
-- column: attempt_id | the attempt
-- column: process_id | the review process
-- column: seller_id | the seller it was sent for, where the entries name one
-- column: path | dotted path of the leaf
-- column: value_key | keyed digest of its value: equal for the same JSON value
-- column: started_at | the attempt's start
-- column: start_seq | the entry of the start
-- column: is_covered | the latest answer to the path is from the seller, not older than the process, and says this value
-- column: has_same_answer | some answer says this value
-- column: has_seller_answer | some answer of the seller's says this value
-- column: has_timely_answer | some answer of the seller's says this value and is not older than the process
-- column: evidence_seq | the latest answer that says this value

with sent as (
    select leaves.*, process_facts.opened_at
    from payload_leaves as leaves
    join process_facts on process_facts.process_id = leaves.process_id
),

judged as (
    select
        sent.*,
        answers.seq,
        answers.recency,
        answers.value_key = sent.value_key as is_same,
        answers.source = 'seller' as is_seller,
        sent.opened_at is null or answers.answered_at >= sent.opened_at as is_timely
    from sent
    left join answers
        on answers.process_id = sent.process_id
        and answers.path = sent.path
        and answers.answered_at <= sent.started_at
)

select
    attempt_id,
    any_value(process_id) as process_id,
    any_value(seller_id) as seller_id,
    path,
    any_value(value_key) as value_key,
    any_value(started_at) as started_at,
    any_value(start_seq) as start_seq,
    coalesce(arg_max(is_same and is_seller and is_timely, recency), false) as is_covered,
    coalesce(bool_or(is_same), false) as has_same_answer,
    coalesce(bool_or(is_same and is_seller), false) as has_seller_answer,
    coalesce(bool_or(is_same and is_seller and is_timely), false) as has_timely_answer,
    arg_max(seq, recency) filter (where is_same) as evidence_seq
from judged
group by attempt_id, path
