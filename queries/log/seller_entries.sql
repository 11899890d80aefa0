-- One row per entry of the log and seller that it is about: those of the timeline, the ends of
-- attempts whose start names the seller, since an end from a file names none, and what showed or
-- found the seller among others.
-- key: seq, seller_id
-- order: occurred_at, seq, seller_id
-- column: seller_id | the seller it is about

select seq, occurred_at, seller_id
from timeline
where seller_id is not null
union
select finishes.seq, finishes.occurred_at, starts.seller_id
from timeline as starts
join fact_attempt_finishes as finishes on finishes.attempt_id = starts.attempt_id
where starts.kind = 'submission_started'
    and starts.seller_id is not null
    and finishes.seller_id is null
    and finishes.occurred_at <= as_of()
union
select seq, occurred_at, unnest(content ->> '$.sellers[*]') as seller_id
from fact_actions
where kind in ('unmask', 'search') and occurred_at <= as_of()
