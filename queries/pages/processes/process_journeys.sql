-- One row per review process that the seller was asked about: how far its collection journeys came.
-- key: process_id
-- by: process_id
-- column: invited_at | first invitation to a journey
-- column: opened_at | first time the seller opened one
-- column: answered_at | latest answer that the seller gave; what came from elsewhere is none
-- column: confirmed_at | latest confirmation of the seller

select
    process_id,
    min(occurred_at) filter (where step = 'invited') as invited_at,
    min(occurred_at) filter (where step = 'opened') as opened_at,
    max(occurred_at) filter (where step = 'answered' and source = 'seller') as answered_at,
    max(occurred_at) filter (where step = 'confirmed' and source = 'seller') as confirmed_at
from journey_steps
group by process_id
