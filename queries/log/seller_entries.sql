-- One row per entry of the log and seller that it is about: those of the timeline, and the ends of
-- attempts whose start names the seller, since an end from a file names none.
-- reads: timeline, facts.attempt_finishes
-- key: seq, seller_id
-- order: occurred_at
-- order: seq
-- order: seller_id
-- column: seq | the entry's place in the log
-- column: occurred_at | when it happened on our side
-- column: seller_id | the seller it is about

select seq, occurred_at, seller_id
from timeline
where seller_id is not null
union
select finishes.seq, finishes.occurred_at, starts.seller_id
from timeline as starts
join facts.attempt_finishes as finishes on finishes.attempt_id = starts.attempt_id
where starts.kind = 'submission_started'
    and starts.seller_id is not null
    and finishes.seller_id is null
    and finishes.occurred_at <= as_of()
