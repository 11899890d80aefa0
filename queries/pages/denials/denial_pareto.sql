-- One row per reason and detail of denials, the most frequent first, with its share of all reasons
-- given. The vital few are those that together reach 80 %.
-- open to: analysts
-- key: reason, detail
-- order: denials desc, reason, detail nulls first
-- column: reason | text | category of the denial
-- column: retryable_share | those with retry = true / those that carry a retry
-- column: share | of all reasons given
-- column: cumulative_share | of this and all more frequent ones
-- column: is_vital | among the few that reach 80 %

with shared as (
    select
        *,
        denials / sum(denials) over () as share,
        sum(denials) over (
            order by denials desc, reason, detail nulls first
            rows unbounded preceding
        ) / sum(denials) over () as cumulative_share
    from denial_reasons
)

select
    reason,
    detail,
    denials,
    retryable_share,
    share,
    cumulative_share,
    cumulative_share - share < 0.8 as is_vital
from shared
