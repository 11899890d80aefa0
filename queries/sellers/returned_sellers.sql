-- One row per denied seller that came back as a new one, the latest return first (docs/rules.md#denials).
-- Sellers belong together when their taxpayer ids have the same letters and digits.
-- open to: analysts
-- key: seller_id
-- order: came_back_at desc, seller_id
-- column: seller_id | the denied seller
-- column: came_back_at | when the first seller with its taxpayer id was created after that
-- column: successor_id | that seller; the least id where several were created at once
-- column: successors | sellers with its taxpayer id that were created after its first denial
-- column: is_cured | one of these was ever enabled
-- column: cured_at | when the first of them was, by the platform's instants; null until then
-- column: seconds_to_cure | from first_denied_at to cured_at; null until then
-- column: was_in_vain | its latest denial before the first of them said retry = false

with returned as (
    select
        denied.seller_id,
        any_value(denied.first_denied_at) as first_denied_at,
        any_value(denied.denials) as denials,
        any_value(denied.final_denials) as final_denials,
        min(successors.created_at) as came_back_at,
        arg_min(successors.seller_id, struct_pack(successors.created_at, successors.seller_id))
            as successor_id,
        count(*) as successors,
        min(successors.first_enabled_at) as cured_at
    from seller_records as denied
    join seller_records as successors
        on successors.taxpayer_key = denied.taxpayer_key
        and successors.seller_id <> denied.seller_id
        and successors.created_at > denied.first_denied_at
    group by denied.seller_id
),

denied_both_ways as (
    -- Only of these the denials themselves. Of what one list holds DuckDB expects little, so that it
    -- looks among millions of denials for these, and not among these for each of the denials.
    select unnest(list(struct_pack(seller_id, came_back_at)), recursive := true)
    from returned
    where final_denials between 1 and denials - 1
),

last_answers as (
    select
        seller_id,
        arg_max(coalesce(retry, true), struct_pack(created_at, occurred_at, event_id))
            as might_retry
    from seller_events
    join denied_both_ways using (seller_id)
    where event_type = 'seller.denied' and created_at < came_back_at
    group by seller_id
)

select
    returned.seller_id,
    first_denied_at,
    came_back_at,
    successor_id,
    successors,
    cured_at is not null as is_cured,
    cured_at,
    (epoch_us(cured_at) - epoch_us(first_denied_at)) / 1e6 as seconds_to_cure,
    final_denials = denials or coalesce(not might_retry, false) as was_in_vain
from returned
left join last_answers on last_answers.seller_id = returned.seller_id
