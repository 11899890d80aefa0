-- One row per field that an attempt sent and a seller has to answer for, against its evidence: the
-- latest answer to the path there was at the attempt's start, whatever it says.
-- key: attempt_id, path
-- column: seller_id | the seller it was for, where the entries name one
-- column: is_same | its evidence says this value
-- column: is_seller | its evidence is from the seller
-- column: is_covered | its evidence says this value, is from the seller, and not older than the process
-- column: evidence_seq | the entry of its evidence, where that says this value

with sent as (
    select fields.*, process_facts.opened_at
    from payload_fields as fields
    join process_facts on process_facts.process_id = fields.process_id
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
    any_value(attempt_id) as attempt_id,
    any_value(process_id) as process_id,
    any_value(seller_id) as seller_id,
    path,
    any_value(value_key) as value_key,
    any_value(started_at) as started_at,
    start_seq,
    coalesce(arg_max(is_same, recency), false) as is_same,
    coalesce(arg_max(is_seller, recency), false) as is_seller,
    coalesce(arg_max(is_same and is_seller and is_timely, recency), false) as is_covered,
    case when arg_max(is_same, recency) then arg_max(seq, recency) end as evidence_seq
from judged
-- An attempt has one start, and its number takes less to compare.
group by start_seq, path
