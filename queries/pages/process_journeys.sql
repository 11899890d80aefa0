-- One row per review process that the seller was asked about: how far its collection journeys came.
-- reads: clock, facts.collections
-- key: process_id
-- column: process_id | the platform's id of the process
-- column: invited_at | first invitation to a journey
-- column: opened_at | first time the seller opened one
-- column: answered_at | latest answer

select
    process_id,
    min(occurred_at) filter (where step = 'invited') as invited_at,
    min(occurred_at) filter (where step = 'opened') as opened_at,
    max(occurred_at) filter (where step = 'answered') as answered_at
from facts.collections
where occurred_at <= (select as_of from clock)
group by process_id
