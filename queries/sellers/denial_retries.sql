-- One row: which denied sellers came back as new ones, and how that went (docs/rules.md#denials).
-- open to: analysts
-- key: denied_sellers
-- column: denied_sellers | sellers with at least one denial
-- column: retryable_share | denials with retry = true / denials that carry a retry; null over nothing
-- column: reonboarded | denied sellers whose taxpayer id belongs to another seller created after their first denial
-- column: reonboarding_rate | reonboarded / denied sellers with a taxpayer id; null over nothing
-- column: cured | reonboarded sellers one of whose successors was ever enabled
-- column: cure_rate | cured / reonboarded; null over nothing
-- column: wasted_retries | reonboarded sellers whose latest denial before the first successor said retry = false

with sellers as (
    select
        count(first_denied_at) as denied_sellers,
        count(taxpayer_key) filter (where first_denied_at is not null) as with_taxpayer_id,
        sum(retryable_denials) / nullif(sum(retryable_denials + final_denials), 0)
            as retryable_share
    from seller_records
),

successes as (
    select
        count(*) as reonboarded,
        count(*) filter (where is_cured) as cured,
        count(*) filter (where was_in_vain) as wasted_retries
    from returned_sellers
)

select
    denied_sellers,
    retryable_share,
    reonboarded,
    reonboarded / nullif(with_taxpayer_id, 0) as reonboarding_rate,
    cured,
    cured / nullif(reonboarded, 0) as cure_rate,
    wasted_retries
from sellers, successes
