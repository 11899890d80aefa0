-- One row: how few reasons explain most denials, and what became of the sellers denied.
-- reads: denial_pareto, denials, denial_retries
-- key: denials
-- column: denials | denials in all
-- column: vital_reasons | reasons that together reach 80 % of all reasons given
-- column: vital_share | the share that they reach; null over nothing
-- column: denied_sellers | sellers with at least one denial
-- column: retryable_share | denials with retry = true / denials that carry a retry; null over nothing
-- column: reonboarded | denied sellers that came back as new ones
-- column: reonboarding_rate | reonboarded / denied sellers with a taxpayer id; null over nothing
-- column: cured | reonboarded sellers one of whose successors was ever enabled
-- column: cure_rate | cured / reonboarded; null over nothing
-- column: wasted_retries | reonboarded sellers whose denial had said retry = false

with few as (
    select
        count(*) filter (where is_vital) as vital_reasons,
        max(cumulative_share) filter (where is_vital) as vital_share
    from denial_pareto
)

select
    (select count(*) from denials) as denials,
    vital_reasons,
    vital_share,
    denied_sellers,
    retryable_share,
    reonboarded,
    reonboarding_rate,
    cured,
    cure_rate,
    wasted_retries
from few, denial_retries
